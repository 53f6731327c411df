# nghttp2.mk: compiles the libnghttp2 of configure --with-nghttp2-source as a layer of its own, with the flags of h2d but its
# warnings. For GNU make.

nghttp2_objects := $(patsubst $(nghttp2_source)/lib/%.c,src/nghttp2/%.o,$(wildcard $(nghttp2_source)/lib/*.c))
# What its configure finds out on Linux.
nghttp2_cppflags = -DBUILDING_NGHTTP2 -DHAVE_ARPA_INET_H -DHAVE_NETINET_IN_H -DHAVE_TIME_H -DHAVE_CLOCK_GETTIME \
	-DHAVE_DECL_CLOCK_MONOTONIC=1 $(NGHTTP2_CFLAGS) $(HARDEN_CPPFLAGS) $(CPPFLAGS)

$(nghttp2_objects): Makefile
src/nghttp2/%.o: $(nghttp2_source)/lib/%.c
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(nghttp2_cppflags) -MD -MP $(HARDEN_CFLAGS) $(LTO_CFLAGS) $(PGO_CFLAGS) $(CFLAGS) -c -o $@ $<
src/nghttp2/libnghttp2.a: $(nghttp2_objects)
	$(AM_V_at)rm -f $@
	$(AM_V_AR)$(AR) $(ARFLAGS) $@ $(nghttp2_objects)
	$(AM_V_at)$(RANLIB) $@
$(sbin_PROGRAMS) $(noinst_PROGRAMS) $(check_PROGRAMS): src/nghttp2/libnghttp2.a
-include $(nghttp2_objects:.o=.d)

clean-local: clean-nghttp2
clean-nghttp2:
	rm -f $(nghttp2_objects) $(nghttp2_objects:.o=.d) src/nghttp2/libnghttp2.a
.PHONY: clean-nghttp2

# with.mk: builds the handlers of the folder that configure --with-handlers names: its *.c, with
# what its handlers.mk says of flags and libraries. For GNU make; included by nobody else's Makefile.

-include $(handlers_dir)/handlers.mk

with_objects := $(patsubst $(handlers_dir)/%.c,src/handlers/with/%.o,$(wildcard $(handlers_dir)/*.c))
src/h2d$(EXEEXT): $(with_objects) src/handlers/with/names

# They see the public header alone: neither config.h nor src/.
src/handlers/with/%.o: $(handlers_dir)/%.c Makefile
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) -I$(srcdir)/include $(HARDEN_CPPFLAGS) $(HANDLERS_CPPFLAGS) $(CPPFLAGS) \
		-MD -MP $(WARN_CFLAGS) $(HARDEN_CFLAGS) $(HANDLERS_CFLAGS) $(CFLAGS) -c -o $@ $<
-include $(with_objects:.o=.d)

# A name that both have would have one of them run the other's code, without a word of the linker
# where it is in an archive.
with_names = $(NM) -g --defined-only
src/handlers/with/names: $(with_objects) $(filter src/%.a,$(master_libs))
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(with_names) $(with_objects) | $(AWK) 'NF == 3 { print $$3 }' | sort -u >$@.theirs
	$(AM_V_at)$(with_names) $(filter src/%.a,$(master_libs)) | $(AWK) 'NF == 3 { print $$3 }' | \
		sort -u >$@.ours
	$(AM_V_at)comm -12 $@.theirs $@.ours >$@.both
	$(AM_V_at)if test -s $@.both; then \
		$(SED) 's|^|$(handlers_dir): the server has this name, too: |' $@.both >&2; exit 1; fi
	$(AM_V_at)mv $@.theirs $@

# with.mk: builds the handlers of the folders that configure --with-handlers names: of each its *.c, *.cc and *.cpp, and
# those of the subfolders that its handlers.mk names, with what else that says of flags and libraries. For GNU make;
# included by nobody else's Makefile.

# One folder: $(1) is its number, under which its objects lie, $(2) its name, which its handlers.mk may use.
define with_folder
handlers_dir := $(2)
HANDLERS_SUBDIRS :=
HANDLERS_LIBS :=
HANDLERS_CPPFLAGS :=
HANDLERS_CFLAGS :=
HANDLERS_CXXFLAGS :=
-include $(2)/handlers.mk
with_libs += $$(HANDLERS_LIBS)
with_$(1)_compile := -I$(srcdir)/include $(HARDEN_CPPFLAGS) $$(HANDLERS_CPPFLAGS) $(CPPFLAGS) -MD -MP $(HARDEN_CFLAGS)
with_$(1)_cflags := $$(HANDLERS_CFLAGS)
with_$(1)_cxxflags := $$(HANDLERS_CXXFLAGS)
with_$(1)_sources := $$(foreach dir,$(2) $$(HANDLERS_SUBDIRS:%=$(2)/%),$$(foreach of,c cc cpp,$$(wildcard $$(dir)/*.$$(of))))
with_$(1)_checks := $$(filter $(2)/check_%.c,$$(with_$(1)_sources))
with_$(1)_sources := $$(filter-out $(2)/check_%.c,$$(with_$(1)_sources))
with_$(1)_objects := $$(with_$(1)_sources:$(2)/%=src/handlers/with/$(1)/%.o)
with_objects += $$(with_$(1)_objects)
with_cxx += $$(filter %.cc %.cpp,$$(with_$(1)_sources))

# They see the public headers alone: neither config.h nor src/.
$$(with_$(1)_objects): Makefile $(wildcard $(2)/handlers.mk)
src/handlers/with/$(1)/%.c.o: $(2)/%.c
	$$(AM_V_at)$$(MKDIR_P) $$(@D)
	$$(AM_V_CC)$$(CC) $$(with_$(1)_compile) $$(WARN_CFLAGS) $$(with_$(1)_cflags) $$(CFLAGS) -c -o $$@ $$<
src/handlers/with/$(1)/%.o: $(2)/%
	$$(AM_V_at)$$(MKDIR_P) $$(@D)
	$$(AM_V_CC)$$(CXX) $$(with_$(1)_compile) $$(with_warn_cxxflags) $$(with_$(1)_cxxflags) $$(CXXFLAGS) -c -o $$@ $$<

# Their tests, by h2d/test.h.
with_checks += $$(with_$(1)_checks:$(2)/%.c=src/handlers/with/$(1)/%)
$$(with_$(1)_checks:$(2)/%.c=src/handlers/with/$(1)/%): %: %.c.o $$(with_$(1)_objects) src/handler_keys.$$(OBJEXT) $$(filter src/%.a kit/%.a tools/%.a,$$(kit_libs))
	$$(AM_V_CCLD)$$(with_link) $$(AM_LDFLAGS) $$(kit_ldflags) $$(LDFLAGS) -o $$@ $$< $$(with_$(1)_objects) \
		src/handler_keys.$$(OBJEXT) $$(kit_libs) $$(with_libs) $$(CHECK_LIBS) $$(LIBS)

# A name that both have would have one of them run the other's code, without a word of the linker
# where it is in an archive.
with_names += src/handlers/with/$(1)/names
src/handlers/with/$(1)/names: $$(with_$(1)_objects) src/handlers/with/server
	$$(AM_V_at)$$(MKDIR_P) $$(@D)
	$$(AM_V_GEN)$$(with_nm) $$(with_$(1)_objects) | $$(with_sort) >$$@.theirs
	$$(AM_V_at)comm -12 $$@.theirs src/handlers/with/server >$$@.both
	$$(AM_V_at)if test -s $$@.both; then \
		$$(SED) 's|^|$(2): the server has this name, too: |' $$@.both >&2; exit 1; fi
	$$(AM_V_at)mv $$@.theirs $$@
endef

# C++ takes some of the warnings for a mistake, and finds one in every handler that has not got all calls.
with_warn_cxxflags := $(filter-out -std=% -Wstrict-prototypes -Wmissing-prototypes,$(WARN_CFLAGS)) \
	-Wno-missing-field-initializers
with_nm = $(NM) -g --defined-only
with_sort = $(AWK) 'NF == 3 { print $$3 }' | sort -u
with_number = $(words $(with_names) .)
$(foreach dir,$(handlers_dirs),$(eval $(call with_folder,$(with_number),$(dir))))
-include $(with_objects:.o=.d)

with_programs = src/h2d$(EXEEXT) tests/unit/check_route_random$(EXEEXT)
$(with_programs): $(with_objects) $(with_names)
ifneq ($(strip $(with_cxx)),)
$(with_programs): private CCLD = $(CXX)
endif

with_link = $(if $(strip $(with_cxx)),$(CXX),$(CC)) $(CFLAGS)
check-handlers: $(with_checks)
	@for check in $(with_checks); do echo "$$check"; $$check || exit 1; done
check-am: check-handlers
.PHONY: check-handlers

# The server's own names.
src/handlers/with/server: $(filter src/%.a,$(master_libs))
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(with_nm) $^ | $(with_sort) >$@.x && mv $@.x $@

# Their keys and metrics; a folder may have none, or get some later.
tools/tools_key_gen-key_gen.$(OBJEXT): src/handlers/with/conf.def src/handlers/with/metrics.def
src/handlers/with/conf.def: FORCE
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_at)printf '#undef KEY\n#define KEY ROW\n%s\n' \
		$(with_keys:%='#include "%"') >$@.x
	$(AM_V_at)if cmp -s $@.x $@; then rm $@.x; else mv $@.x $@; fi
with_keys = $(wildcard $(handlers_dirs:%=%/conf.def))
src/handlers/with/metrics.def: FORCE
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_at)printf '#undef COUNTER\n#define COUNTER COUNTS\n#undef HISTOGRAM\n#define HISTOGRAM OBSERVES\n%s\n' \
		$(with_metrics:%='#include "%"') >$@.x
	$(AM_V_at)if cmp -s $@.x $@; then rm $@.x; else mv $@.x $@; fi
with_metrics = $(wildcard $(handlers_dirs:%=%/metrics.def))
.PHONY: FORCE

# Their rows; each table may have taken the macro away.
tools/tools_route_gen-route_gen.$(OBJEXT): src/handlers/with/routes.def
src/handlers/with/routes.def: Makefile
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_GEN)printf '#undef ROUTE\n#define ROUTE ROW\n#include "%s"\n' $(handlers_dirs:%=%/routes.def) >$@

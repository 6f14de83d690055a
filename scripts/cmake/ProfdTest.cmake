# How tests are registered. Each CTest entry writes a GoogleTest XML file, from which scripts/test counts
# test cases. A case that cannot run here says why with GTEST_SKIP. The target tests_LABEL builds what the
# entries of a label need. Entries run side by side, also several daemons with BPF programs of their own; an entry
# runs ALONE if it watches the whole host: its CPUs, all processes, or how exactly it measures.

# A test's own code is compiled in half the time that -O2 -g takes.
set(PROFD_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O1;-g1>)

# What every entry has in common.
function(profd_register_test name label timeout alone)
  set(environment "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/tests/results/${name}.xml")
  if(PROFD_SANITIZE)
    list(APPEND environment
      "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/scripts/cmake/lsan.supp:print_suppressions=0"
      "UBSAN_OPTIONS=print_stacktrace=1"
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/scripts/cmake/tsan.supp:history_size=4")
    math(EXPR timeout "${timeout} * 3")
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${label}" TIMEOUT ${timeout} ENVIRONMENT "${environment}")
  set_tests_properties(${name} PROPERTIES RUN_SERIAL ${alone})
  foreach(one IN LISTS label)
    if(NOT TARGET tests_${one})
      add_custom_target(tests_${one})
    endif()
  endforeach()
endfunction()

# profd_test(NAME SOURCES... LIBS... LABEL unit|bpf_user|replay|rpc|root|e2e|accuracy [TIMEOUT seconds]
#            [DEPENDS targets...] [ALONE] [SMOKE] [PARTS ends...]): one GoogleTest executable. DEPENDS: programs it
# starts. SMOKE: it also runs under the sanitizers, where else only unit, bpf_user, replay and rpc do.
# PARTS: an entry for each, of the cases whose names end so.
function(profd_test name)
  cmake_parse_arguments(ARG "SMOKE;ALONE" "LABEL;TIMEOUT" "SOURCES;LIBS;DEPENDS;PARTS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE profd_options ${ARG_LIBS} profd_test_paths GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${PROFD_TEST_OPTIONS})
  profd_use_precompiled(${name} TEST)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set(labels ${ARG_LABEL})
  # What reads bytes of others: these run under the sanitizers every time.
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(bpf_user|unit/(base|wire|reader|elf|process|recording|symbolize|unwind))$")
    list(APPEND labels core)
  endif()
  if(ARG_SMOKE)
    list(APPEND labels smoke)
  endif()
  if(ARG_PARTS)
    foreach(part IN LISTS ARG_PARTS)
      add_test(NAME ${name}_${part} COMMAND ${name} "--gtest_filter=*${part}")
      profd_register_test(${name}_${part} "${labels}" ${ARG_TIMEOUT} ${ARG_ALONE})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
    profd_register_test(${name} "${labels}" ${ARG_TIMEOUT} ${ARG_ALONE})
  endif()
  foreach(label IN LISTS labels)
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()

# profd_python_test(NAME SOURCE LABEL [TIMEOUT seconds] [ALONE]): one file of Python unittest cases.
function(profd_python_test name)
  cmake_parse_arguments(ARG "ALONE" "SOURCE;LABEL;TIMEOUT" "" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/support/run_unittest.py
           ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE})
  profd_register_test(${name} "${ARG_LABEL}" ${ARG_TIMEOUT} ${ARG_ALONE})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "PROFD_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "PROFD_BINARY_DIR=${PROJECT_BINARY_DIR}")
endfunction()

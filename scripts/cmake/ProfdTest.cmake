# How tests are registered. Each CTest entry writes a GoogleTest XML file, from which scripts/test counts
# test cases. A case that cannot run here says why with GTEST_SKIP. The target tests_LABEL builds what the
# entries of a label need, the target ENTRY what one of them needs. Entries run side by side, also several
# daemons with BPF programs of their own.
#   ALONE: it measures how exact or how fast something is, or keeps all CPUs busy. No other entry runs on this
#          kernel meanwhile; in scripts/test a guest of qemu may, on CPUs that are idle.
#   QUIET: ALONE, and it judges what profd needs over time, which follows from all programs of the host. Nothing
#          runs beside it.
#   COST:  about the seconds that it takes, for slow entries: ctest starts these first.

# A test's own code is compiled in half the time that -O2 -g takes.
set(PROFD_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O1;-g1>)

# What the functions below take.
set(PROFD_TEST_FLAGS ALONE QUIET SMOKE)
set(PROFD_TEST_VALUES LABEL TIMEOUT COST SOURCE)
set(PROFD_TEST_LISTS SOURCES LIBS DEPENDS PARTS)

# What every entry has in common: profd_register_test(ENTRY LABELS [TIMEOUT seconds] [COST seconds] [ALONE] [QUIET]
# [DEPENDS targets...]).
function(profd_register_test entry labels)
  cmake_parse_arguments(ARG "${PROFD_TEST_FLAGS}" "${PROFD_TEST_VALUES}" "${PROFD_TEST_LISTS}" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  set(environment "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/tests/results/${entry}.xml")
  if(PROFD_SANITIZE)
    list(APPEND environment
      "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/scripts/cmake/lsan.supp:print_suppressions=0"
      "UBSAN_OPTIONS=print_stacktrace=1"
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/scripts/cmake/tsan.supp:history_size=4")
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 3")
  endif()
  if(ARG_QUIET)
    list(APPEND labels quiet)
  elseif(ARG_ALONE)
    list(APPEND labels alone)
  endif()
  set(serial FALSE)
  if(ARG_ALONE OR ARG_QUIET)
    set(serial TRUE)
  endif()
  set_tests_properties(${entry} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST}
    RUN_SERIAL ${serial} ENVIRONMENT "${environment}")
  if(NOT TARGET ${entry})
    add_custom_target(${entry})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${entry} ${ARG_DEPENDS})
  endif()
  foreach(label IN LISTS labels)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${entry})
  endforeach()
endfunction()

# profd_test(NAME SOURCES... LIBS... LABEL unit|bpf_user|replay|rpc|root|e2e|accuracy [TIMEOUT seconds] [COST seconds]
#            [DEPENDS targets...] [ALONE] [QUIET] [SMOKE] [PARTS ends...]): one GoogleTest executable. DEPENDS:
# programs it starts. SMOKE: it also runs under the sanitizers, where else only unit, bpf_user, replay and rpc do.
# PARTS: an entry for each, of the cases whose names end so.
function(profd_test name)
  cmake_parse_arguments(ARG "${PROFD_TEST_FLAGS}" "${PROFD_TEST_VALUES}" "${PROFD_TEST_LISTS}" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE profd_options ${ARG_LIBS} profd_test_paths GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${PROFD_TEST_OPTIONS})
  # 3 GB of debug information in all tests together, most of it the same, would be linked and written, and is not read.
  if(NOT PROFD_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_link_options(${name} PRIVATE -Wl,--strip-debug)
  endif()
  profd_use_precompiled(${name} TEST)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
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
      profd_register_test(${name}_${part} "${labels}" ${ARGN})
      add_dependencies(${name}_${part} ${name})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
    profd_register_test(${name} "${labels}" ${ARGN})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# profd_python_test(NAME SOURCE LABEL [TIMEOUT seconds] [COST seconds] [DEPENDS targets...] [ALONE] [QUIET]): one file
# of Python unittest cases.
function(profd_python_test name)
  cmake_parse_arguments(ARG "${PROFD_TEST_FLAGS}" "${PROFD_TEST_VALUES}" "${PROFD_TEST_LISTS}" ${ARGN})
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/support/run_unittest.py
           ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE})
  profd_register_test(${name} "${ARG_LABEL}" ${ARGN})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "PROFD_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "PROFD_BINARY_DIR=${PROJECT_BINARY_DIR}")
endfunction()

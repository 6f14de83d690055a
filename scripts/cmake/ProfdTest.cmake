# profd_test(NAME SOURCES... LIBS... LABEL unit|bpf_user|replay|rpc|root|e2e|accuracy [TIMEOUT seconds]):
# one GoogleTest executable, one CTest entry. A test that cannot run says why with GTEST_SKIP and is
# counted by scripts/test. Labels root and e2e run alone: they watch the whole machine.
function(profd_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE profd_options ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    PROFD_SOURCE_DIR="${PROJECT_SOURCE_DIR}" PROFD_BINARY_DIR="${PROJECT_BINARY_DIR}"
    PROFD_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABEL MATCHES "root|e2e|accuracy")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

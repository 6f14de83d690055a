# Headers of others that most files of a kind include, compiled once. They save about half of a build's time.
# Only headers that do not change stand here, so that a change of ours never rebuilds everything. Every file still
# includes what it uses: the check `tidy` compiles each one without them.

set(standard_headers <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional> <span>
    <string> <string_view> <unordered_map> <utility> <vector>)

# profd_precompiled(NAME LIBS... HEADERS...)
function(profd_precompiled name)
  cmake_parse_arguments(ARG "" "" "LIBS;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/${name}.cc CONTENT "")
  add_library(${name} STATIC ${PROJECT_BINARY_DIR}/precompiled/${name}.cc)
  target_link_libraries(${name} PRIVATE profd_options ${ARG_LIBS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# Called when the targets that they need are known.
function(profd_precompiled_headers)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  set(generated <profd/v1/profile.pb.h>)
  set(test <gmock/gmock.h> <gtest/gtest.h>)
  profd_precompiled(profd_precompiled_daemon HEADERS ${standard_headers})
  profd_precompiled(profd_precompiled_client LIBS profd_proto HEADERS ${standard_headers} ${generated})
  profd_precompiled(profd_precompiled_test LIBS GTest::gmock HEADERS ${standard_headers} ${test})
  profd_precompiled(profd_precompiled_client_test LIBS profd_proto GTest::gmock
                    HEADERS ${standard_headers} ${generated} ${test})
  foreach(name profd_precompiled_daemon profd_precompiled_client)
    target_compile_options(${name} PRIVATE ${PROFD_LIBRARY_OPTIONS})
  endforeach()
  foreach(name profd_precompiled_test profd_precompiled_client_test)
    target_compile_options(${name} PRIVATE ${PROFD_TEST_OPTIONS})
  endforeach()
endfunction()

# profd_use_precompiled(TARGET [TEST]): those of the folder that is being read. A folder in which they do not
# work sets PROFD_NO_PRECOMPILED.
function(profd_use_precompiled target)
  if(PROFD_NO_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  set(kind daemon)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/(tests/unit/)?client(/|$)")
    set(kind client)
  endif()
  if("TEST" IN_LIST ARGN)
    string(APPEND kind _test)
    string(REPLACE daemon_ "" kind ${kind})
  endif()
  target_precompile_headers(${target} REUSE_FROM profd_precompiled_${kind})
  # g++ 12 warns of the code of std::string when it comes from a precompiled header.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>)
endfunction()

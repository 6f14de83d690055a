# profd_options: what every target of ours is compiled with. Generated code does not link it.
add_library(profd_options INTERFACE)
target_include_directories(profd_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(profd_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -fno-omit-frame-pointer
  -pthread)  # everywhere: a precompiled header needs the same macros as its users
target_compile_definitions(profd_options INTERFACE PROFD_VERSION="${PROJECT_VERSION}")
if(PROFD_WERROR)
  target_compile_options(profd_options INTERFACE -Werror)
endif()
if(PROFD_SANITIZE)
  add_compile_options(-fsanitize=${PROFD_SANITIZE} -fno-sanitize-recover=all)
  # g++ 12 sees uninitialised members of <regex> and <functional> there that are none.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${PROFD_SANITIZE})
endif()

if(PROFD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Lines and no local variables: a third of a build's time less. Debug builds have both.
set(PROFD_LIBRARY_OPTIONS $<$<CONFIG:RelWithDebInfo>:-g1>)

# profd_library(NAME SOURCES... LIBS...): one static library per folder.
function(profd_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC profd_options ${ARG_LIBS})
  target_compile_options(${name} PRIVATE ${PROFD_LIBRARY_OPTIONS})
  profd_use_precompiled(${name})
endfunction()

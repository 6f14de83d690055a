# Classes in libraries and programs of all kinds, with and without their symbols.
function(virtual_fixture kind)
  set(whole ${CMAKE_CURRENT_BINARY_DIR}/virtual_${kind}.so)
  add_custom_command(OUTPUT ${whole} ${whole}.stripped
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O2 -fvisibility=hidden ${ARGN} -o ${whole}
      ${CMAKE_CURRENT_SOURCE_DIR}/virtual_fixture.cc
    COMMAND ${CMAKE_STRIP} -s -o ${whole}.stripped ${whole}
    DEPENDS virtual_fixture.cc)
  add_custom_target(virtual_fixture_${kind} DEPENDS ${whole} ${whole}.stripped)
  add_dependencies(elf_test virtual_fixture_${kind})
endfunction()
virtual_fixture(library -shared -fPIC)
virtual_fixture(packed -shared -fPIC -Wl,-z,pack-relative-relocs)
virtual_fixture(program -fPIE -pie -DFIXTURE_IS_PROGRAM)
virtual_fixture(fixed -fno-pie -no-pie -DFIXTURE_IS_PROGRAM)
virtual_fixture(static -fPIE -static-pie -DFIXTURE_IS_PROGRAM)
virtual_fixture(fixed_static -fno-pie -no-pie -static -DFIXTURE_IS_PROGRAM)
set_property(SOURCE virtual_functions_test.cc APPEND PROPERTY COMPILE_DEFINITIONS
  PROFD_VIRTUAL_FIXTURES="${CMAKE_CURRENT_BINARY_DIR}/virtual_")

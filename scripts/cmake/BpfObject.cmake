# bpf_object(NAME SOURCE HEADERS...): compiles BPF C and makes an INTERFACE target NAME whose include
# directory holds NAME.skel.h, the object embedded as a libbpf skeleton. Needs no BTF of this machine.
find_program(BPF_CLANG NAMES clang-16 clang-17 clang-19 clang REQUIRED)
find_program(BPFTOOL bpftool PATHS /usr/sbin /sbin REQUIRED)

set(BPF_WARNINGS -Wall -Wextra -Wno-unused-parameter)
if(PROFD_WERROR)
  list(APPEND BPF_WARNINGS -Werror)
endif()

function(bpf_object name source)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(object ${out}/${name}.bpf.o)
  set(skeleton ${out}/${name}.skel.h)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${BPF_CLANG} -g -O2 ${BPF_WARNINGS} -target bpf -mcpu=v3
            -D__TARGET_ARCH_x86 -I${PROJECT_SOURCE_DIR} -isystem /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPFILE ${object}.d
    COMMENT "BPF ${source}")
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${BPFTOOL} gen skeleton ${object} name ${name} > ${skeleton}
    DEPENDS ${object}
    COMMENT "BPF skeleton ${name}.skel.h")
  add_custom_target(${name}_generate DEPENDS ${skeleton})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_generate)
  target_include_directories(${name} SYSTEM INTERFACE ${out})
  target_link_libraries(${name} INTERFACE PkgConfig::LIBBPF)
endfunction()

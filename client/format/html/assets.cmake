# The page's scripts are bundled, and become string literals with its styles.
find_program(ESBUILD esbuild REQUIRED)
set(page ${PROJECT_SOURCE_DIR}/client/web/page)
set(page_scripts counts data dom engine flame_graph format heat_map kept main sides state summary tables views waits)
set(served_scripts address api bar comparison diff_graph live main range strip)
list(TRANSFORM page_scripts REPLACE "(.+)" "${page}/\\1.ts")
list(TRANSFORM served_scripts REPLACE "(.+)" "${page}/served/\\1.ts")
foreach(bundle page served)
  set(main_of_page ${page}/main.ts)
  set(main_of_served ${page}/served/main.ts)
  add_custom_command(
    OUTPUT ${out}/${bundle}.js
    COMMAND ${ESBUILD} ${main_of_${bundle}} --bundle --minify --target=es2021 --charset=utf8 --log-level=warning
            --outfile=${out}/${bundle}.js
    DEPENDS ${page_scripts} ${served_scripts})
endforeach()
add_custom_command(
  OUTPUT ${out}/page_assets.cc
  COMMAND ${CMAKE_COMMAND} -DSCRIPTS=${out} -DSTYLES=${page}
          -DTEMPLATE=${CMAKE_CURRENT_SOURCE_DIR}/html/page_assets.cc.in -DOUTPUT=${out}/page_assets.cc
          -P ${CMAKE_CURRENT_SOURCE_DIR}/html/embed.cmake
  DEPENDS ${out}/page.js ${out}/served.js ${page}/style.css ${page}/served/served.css html/page_assets.cc.in
          html/embed.cmake)

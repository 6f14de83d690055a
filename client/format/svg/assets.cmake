# The style and the script of the svg become string literals.
set(PROFD_SVG_SCRIPT "")
foreach(part model draw controls)
  file(READ svg/${part}.js text)
  string(APPEND PROFD_SVG_SCRIPT "${text}")
endforeach()
file(READ svg/style.css PROFD_SVG_STYLE)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             svg/model.js svg/draw.js svg/controls.js svg/style.css)
configure_file(svg/svg_assets.cc.in ${out}/svg_assets.cc @ONLY)

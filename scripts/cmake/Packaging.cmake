# What `cmake --install` puts where, and the Debian package: target package_deb.
include(GNUInstallDirs)
set(deploy ${PROJECT_SOURCE_DIR}/deploy)
set(doc ${CMAKE_INSTALL_DOCDIR})

# Files that list all settings are written from their table; see daemon/config/settings_documents.cc.
set(generated ${PROJECT_BINARY_DIR}/deploy)
file(MAKE_DIRECTORY ${generated})
add_custom_command(OUTPUT ${generated}/profd.toml
  COMMAND settings_documents toml > ${generated}/profd.toml
  DEPENDS settings_documents VERBATIM)
foreach(page profd.8 profd.toml.5)
  add_custom_command(OUTPUT ${generated}/${page}
    COMMAND settings_documents man ${deploy}/man/${page} > ${generated}/${page}
    DEPENDS settings_documents ${deploy}/man/${page} VERBATIM)
endforeach()
add_custom_target(settings_files ALL
  DEPENDS ${generated}/profd.toml ${generated}/profd.8 ${generated}/profd.toml.5)

# The same for those that list commands, options or formats; see client/documents/command_documents.cc.
foreach(kind bash fish zsh man)
  set(name completions/profctl.${kind})
  if(kind STREQUAL man)
    set(name man/profctl.1)
  endif()
  get_filename_component(file ${name} NAME)
  add_custom_command(OUTPUT ${generated}/${file}
    COMMAND command_documents ${kind} ${deploy}/${name} > ${generated}/${file}
    DEPENDS command_documents ${deploy}/${name} VERBATIM)
  list(APPEND command_files ${generated}/${file})
endforeach()
add_custom_target(command_files ALL DEPENDS ${command_files})

install(TARGETS profd profctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${deploy}/systemd/profd.service ${deploy}/systemd/profd.socket DESTINATION lib/systemd/system)
install(FILES ${deploy}/systemd/profd.sysusers DESTINATION lib/sysusers.d RENAME profd.conf)
install(FILES ${deploy}/systemd/profd.tmpfiles DESTINATION lib/tmpfiles.d RENAME profd.conf)
install(FILES ${deploy}/systemd/profd.sysctl DESTINATION lib/sysctl.d RENAME 10-profd.conf)
install(FILES ${generated}/profd.toml DESTINATION /etc/profd)
# A copy to read: profd has the rules in itself.
install(FILES ${PROJECT_SOURCE_DIR}/daemon/rules/rules.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/profd)
install(FILES ${generated}/profctl.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME profctl)
install(FILES ${generated}/profctl.zsh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _profctl)
install(FILES ${generated}/profctl.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${deploy}/debian/copyright DESTINATION ${doc})

# Compressed as Debian wants it, without the time: the same every time.
function(profd_install_gz source destination name)
  set(packed ${PROJECT_BINARY_DIR}/packed/${name}.gz)
  add_custom_command(OUTPUT ${packed}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/packed
    COMMAND gzip -9nc ${source} > ${packed}
    DEPENDS ${source} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY PROFD_PACKED ${packed})
  install(FILES ${packed} DESTINATION ${destination})
endfunction()
profd_install_gz(${generated}/profd.8 ${CMAKE_INSTALL_MANDIR}/man8 profd.8)
profd_install_gz(${generated}/profd.toml.5 ${CMAKE_INSTALL_MANDIR}/man5 profd.toml.5)
profd_install_gz(${generated}/profctl.1 ${CMAKE_INSTALL_MANDIR}/man1 profctl.1)
profd_install_gz(${deploy}/debian/changelog ${doc} changelog)
get_property(packed GLOBAL PROPERTY PROFD_PACKED)
add_custom_target(packed_files ALL DEPENDS ${packed})
add_dependencies(packed_files settings_files command_files)

set(CPACK_PACKAGE_NAME profd)
set(CPACK_PACKAGE_CONTACT "The profd authors <maintainers@profd.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "always-on, system-wide on/off-CPU profiler")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"An agent that samples what runs and what waits on a host, by BPF programs, and
keeps an exact clock of every thread, so that the parts of a profile add up to
the time that passed. profctl asks it for profiles.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "passwd | systemd")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS graphviz) # pictures of `profctl waits`
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${deploy}/debian/postinst ${deploy}/debian/prerm ${deploy}/debian/postrm ${deploy}/debian/conffiles)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
# Not CPack's own target, which builds everything first, tests too.
add_custom_target(package_deb
  COMMAND ${CMAKE_CPACK_COMMAND} --config ${PROJECT_BINARY_DIR}/CPackConfig.cmake -B ${PROJECT_BINARY_DIR}/packages
  DEPENDS profd profctl packed_files VERBATIM)

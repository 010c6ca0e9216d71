# Installation: find_package(tokenroof CONFIG), add_subdirectory and pkg-config all give
# tokenroof::tokenroof; tokenroof::analyze and tokenroof::io where their needs are met.
if(NOT PROJECT_IS_TOP_LEVEL AND NOT TOKENROOF_INSTALL)
  return()
endif()

set(TOKENROOF_CMAKE_DIR ${CMAKE_INSTALL_DATADIR}/cmake/tokenroof)

install(DIRECTORY include/tokenroof TYPE INCLUDE)
install(TARGETS tokenroof tokenroof_analyze EXPORT tokenroofTargets)
if(TOKENROOF_TOOL)
  install(TARGETS tokenroof_io EXPORT tokenroofTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET tokenroof_xlsx)
    install(TARGETS tokenroof_xlsx EXPORT tokenroofTargets
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  if(TARGET tokenroof_tool)
    install(TARGETS tokenroof_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    include(cmake/pages.cmake)
  endif()
endif()
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tokenroof)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "*_head.md" EXCLUDE)
# The name that Debian asks for.
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT tokenroofTargets NAMESPACE tokenroof:: DESTINATION ${TOKENROOF_CMAKE_DIR})
configure_package_config_file(cmake/tokenroofConfig.cmake.in tokenroofConfig.cmake
                              INSTALL_DESTINATION ${TOKENROOF_CMAKE_DIR})
write_basic_package_version_file(tokenroofConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tokenroofConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/tokenroofConfigVersion.cmake
        DESTINATION ${TOKENROOF_CMAKE_DIR})

configure_file(cmake/tokenroof.pc.in tokenroof.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tokenroof.pc
        DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

if(PROJECT_IS_TOP_LEVEL)
  include(cmake/package.cmake)
endif()

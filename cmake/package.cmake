# A Debian package of everything that is installed: `cpack -G DEB` in a finished build. The tool needs
# what its binary links; find_package(tokenroof) also needs the packages recommended.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tokenroof)
set(CPACK_PACKAGE_VENDOR "The tokenroof authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "Answers before a GPU is rented whether a model fits, how fast a token is, how many users a node
carries, which resource binds, and what a million tokens cost. Holds the command-line tool, its
data, and the C++ headers and library.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The tokenroof authors <authors@tokenroof.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libeigen3-dev, nlohmann-json3-dev, libfmt-dev")
if(TARGET tokenroof_xlsx)
  string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", libxlsxwriter-dev")
endif()
include(CPack)

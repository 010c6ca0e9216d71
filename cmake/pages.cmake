# The manual page and the shell completions, which the tool itself writes. A build for another
# machine cannot run it and installs without them.
if(CMAKE_CROSSCOMPILING)
  return()
endif()

set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages)
set(page_of_man tokenroof.1)
set(page_of_bash tokenroof)
set(page_of_zsh _tokenroof)
set(page_of_fish tokenroof.fish)
set(folder_of_man ${CMAKE_INSTALL_MANDIR}/man1)
set(folder_of_bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
set(folder_of_zsh ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
set(folder_of_fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

foreach(kind man bash zsh fish)
  set(page ${pages}/${kind}/${page_of_${kind}})
  set(verb completion ${kind})
  if(kind STREQUAL "man")
    set(verb man)
  endif()
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}/${kind}
    COMMAND tokenroof_tool ${verb} -o ${page}
    DEPENDS tokenroof_tool
    VERBATIM)
  list(APPEND all_pages ${page})
  install(FILES ${page} DESTINATION ${folder_of_${kind}})
endforeach()
add_custom_target(tokenroof_pages ALL DEPENDS ${all_pages})

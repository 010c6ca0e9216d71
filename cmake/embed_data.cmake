# Turns the JSON files of data/ into one C++ source, so that the library answers without any file
# beside it. Included, this defines the function; run with -P, it writes the source.

function(tokenroof_embed_data folder output)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.json)
  # validation/ is for tests and is not looked up by name.
  list(FILTER files EXCLUDE REGEX "/data/validation/")
  # The list is a file of its own, rewritten only when it changes: a removed data file then also
  # rebuilds the source.
  set(list_file ${output}.list)
  file(CONFIGURE OUTPUT ${list_file} CONTENT "${files}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D FOLDER=${folder} -D LIST=${list_file} -D OUTPUT=${output} -P
            ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${files} ${list_file} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding data/"
    VERBATIM)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
  file(READ ${LIST} files)
  set(entries "")
  # Compilers limit the length of one literal, so long files become several adjacent ones. As `sv`
  # they know their length: counting it would take clang past its limit of constexpr steps.
  set(chunk 12000)
  foreach(file IN LISTS files)
    file(RELATIVE_PATH name ${FOLDER} ${file})
    file(READ ${file} text)
    string(LENGTH "${text}" length)
    string(APPEND entries "    {\"${name}\",\n")
    set(start 0)
    while(start LESS length)
      string(SUBSTRING "${text}" ${start} ${chunk} part)
      string(LENGTH "${part}" taken)
      math(EXPR rest "${length} - ${start} - ${taken}")
      string(FIND "${part}" "\n" newline REVERSE)
      if(rest GREATER 0 AND newline GREATER 0)
        # At a line end, never inside a character of several bytes.
        math(EXPR taken "${newline} + 1")
        string(SUBSTRING "${part}" 0 ${taken} part)
      endif()
      string(APPEND entries "R\"~data~(${part})~data~\"sv\n")
      math(EXPR start "${start} + ${taken}")
    endwhile()
    if(length EQUAL 0)
      string(APPEND entries "\"\"sv")
    endif()
    string(APPEND entries "},\n")
  endforeach()
  file(
    WRITE ${OUTPUT}
    "// Generated from data/ by cmake/embed_data.cmake.
#include \"io/embedded_data.hpp\"

namespace tokenroof::io {
namespace {
using namespace std::string_view_literals;

constexpr EmbeddedFile files[] = {
${entries}    {\"\", \"\"},
};
}  // namespace

std::span<const EmbeddedFile> embedded_files() {
  return {files, sizeof(files) / sizeof(files[0]) - 1};
}
}  // namespace tokenroof::io
")
endif()

# Warnings and sanitizers for our own targets; users of the headers never inherit them.
add_library(tokenroof_strict INTERFACE)
target_compile_options(
  tokenroof_strict INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                             $<$<BOOL:${TOKENROOF_WERROR}>:-Werror>)
# GCC 12 sees overlapping copies in plain string concatenation (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tokenroof_strict INTERFACE -Wno-restrict)
endif()
if(TOKENROOF_SANITIZE)
  target_compile_options(tokenroof_strict INTERFACE -fsanitize=address,undefined
                                                    -fno-sanitize-recover=undefined)
  target_link_options(tokenroof_strict INTERFACE -fsanitize=address,undefined)
endif()

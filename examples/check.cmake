# Runs one example and compares its text and its CSV with the files in expected/, byte for byte.
# With TOKENROOF_UPDATE_EXPECTED set in the environment it writes those files instead.
set(text ${OUTPUT}/${NAME}.txt)
set(csv ${OUTPUT}/${NAME}.csv)
# Shipped data only, whatever the caller's environment says.
unset(ENV{TOKENROOF_DATA})
execute_process(COMMAND ${PROGRAM} ${SOURCE}/specs/${NAME}.json ${csv}
                OUTPUT_FILE ${text} COMMAND_ERROR_IS_FATAL ANY)
if(DEFINED ENV{TOKENROOF_UPDATE_EXPECTED})
  file(COPY ${text} ${csv} DESTINATION ${SOURCE}/expected)
  return()
endif()
foreach(made ${text} ${csv})
  get_filename_component(file ${made} NAME)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${SOURCE}/expected/${file} ${made}
                  RESULT_VARIABLE differs)
  if(differs)
    message(SEND_ERROR "${made} differs from examples/expected/${file}")
  endif()
endforeach()

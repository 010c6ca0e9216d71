# Installs the build into a prefix and builds tests/consumer against it, by CMake and by pkg-config.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
foreach(way find_package add_subdirectory)
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer -B ${WORK}/${way} -DWAY=${way}
      -DTOKENROOF_SOURCE=${SOURCE} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${WORK}/${way} --target consumer)
  run(${WORK}/${way}/consumer)
endforeach()
find_program(PKG_CONFIG pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/share/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags tokenroof OUTPUT_VARIABLE flags
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags)
run(c++ ${flags} -o ${WORK}/by_pkg_config ${SOURCE}/tests/consumer/main.cpp)
run(${WORK}/by_pkg_config)

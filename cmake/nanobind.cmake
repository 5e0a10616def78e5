# Finds Python and nanobind. scikit-build-core passes both in; a plain CMake build takes them from
# the project's virtual environment.
if(NOT SKBUILD)
  set(ALM_PYTHON "${CMAKE_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH "Python with nanobind")
  set(Python_EXECUTABLE "${ALM_PYTHON}")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT SKBUILD)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY
  )
endif()
find_package(nanobind CONFIG REQUIRED)

# alm_module(NAME [SOURCES ...] [TESTS ...] [SLOW_TESTS ...] [DEPS ...]): one static library target
# alm_NAME per module, headers included as <module>/<file>.h from src/, and one program of all its
# tests, NAME_tests. A module without sources is an interface library. `make test-fast` leaves out
# what is listed in SLOW_TESTS, which is a program of its own.
function(alm_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TESTS;SLOW_TESTS;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(alm_${name} STATIC ${ARG_SOURCES})
    alm_use_headers(alm_${name} alm_headers)
    set(scope PUBLIC)
  else()
    add_library(alm_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(alm_${name} ${scope} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(alm_${name} ${scope} ${ARG_DEPS})
  if(ARG_TESTS)
    alm_tests(${name}_tests alm_${name} fast 480 ${ARG_TESTS})
  endif()
  if(ARG_SLOW_TESTS)
    alm_tests(${name}_slow_tests alm_${name} slow 900 ${ARG_SLOW_TESTS})
  endif()
endfunction()

# A program of tests of LIBRARY. Its sources are compiled together, several at a time: most of what
# each costs is in headers that all include. Sanitized builds run several times slower and get the
# time for it.
function(alm_tests target library label timeout_s)
  if(NOT ALM_BUILD_TESTS)
    return()
  endif()
  if(ALM_SANITIZE)
    math(EXPR timeout_s "${timeout_s} * 4")
  endif()
  add_executable(${target} ${ARGN})
  alm_use_headers(${target} alm_test_headers)
  target_compile_options(${target} PRIVATE ${ALM_TEST_OPTIONS})
  target_link_libraries(${target} PRIVATE ${library} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE ALM_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s})
endfunction()

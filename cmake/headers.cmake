# What most sources include, parsed once per build: that is half the time a source takes. g++ alone;
# clang reads the sources as they are, and so does clang-tidy those changed alone: they notice an
# include that is missing.
set(
  ALM_COMMON_HEADERS
  <algorithm>
  <array>
  <functional>
  <map>
  <memory>
  <optional>
  <span>
  <string>
  <string_view>
  <utility>
  <vector>
  <fmt/format.h>
)

# TARGET holds the precompiled headers; alm_use_headers(OTHER TARGET) takes them over.
function(alm_precompile target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers/${target}.cc CONTENT "")
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/headers/${target}.cc)
  target_link_libraries(${target} PRIVATE alm_fmt)
  target_precompile_headers(${target} PRIVATE ${ALM_COMMON_HEADERS} ${ARGN})
endfunction()

function(alm_use_headers target headers)
  if(TARGET ${headers})
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

alm_precompile(alm_headers)
# What is tested is compiled as the build type says; tests themselves are not worth the time.
set(ALM_TEST_OPTIONS -O1)
if(ALM_BUILD_TESTS)
  # Programs are compiled with -fPIE, libraries with -fPIC: headers precompiled for one are of no
  # use for the other.
  alm_precompile(alm_test_headers <gmock/gmock.h> <gtest/gtest.h>)
  if(TARGET alm_test_headers)
    target_link_libraries(alm_test_headers PRIVATE GTest::gmock GTest::gtest_main)
    set_target_properties(alm_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(alm_test_headers PRIVATE -fPIE ${ALM_TEST_OPTIONS})
  endif()
endif()

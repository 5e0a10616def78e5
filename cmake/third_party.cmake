# Header-only libraries: the system's, or the copies below ALM_THIRD_PARTY that the Python wheel
# carries, so that a site needs a compiler and CMake alone to build the preloadable library.
set(ALM_THIRD_PARTY "" CACHE PATH "Folder with fmt, toml++ and xxhash.h, instead of the system's")

if(ALM_THIRD_PARTY)
  include_directories(SYSTEM ${ALM_THIRD_PARTY})
endif()
find_path(ALM_FMT_FOLDER fmt/core.h HINTS ${ALM_THIRD_PARTY} REQUIRED)
file(STRINGS ${ALM_FMT_FOLDER}/fmt/core.h fmt_version REGEX "#define FMT_VERSION")
if(fmt_version MATCHES " 9[0-9][0-9][0-9][0-9]")
  add_library(alm_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_instance.cc)
else()
  add_library(alm_fmt INTERFACE)
  target_compile_definitions(alm_fmt INTERFACE FMT_HEADER_ONLY=1)
endif()

# Installs those copies, each with its licence as Debian keeps it.
function(alm_install_third_party destination)
  find_path(ALM_TOML_FOLDER toml++/toml.h REQUIRED)
  find_path(ALM_XXHASH_FOLDER xxhash.h REQUIRED)
  install(
    DIRECTORY ${ALM_FMT_FOLDER}/fmt ${ALM_TOML_FOLDER}/toml++
    DESTINATION ${destination}
    ${ARGN}
  )
  install(FILES ${ALM_XXHASH_FOLDER}/xxhash.h DESTINATION ${destination} ${ARGN})
  foreach(package libfmt-dev libtomlplusplus-dev libxxhash-dev)
    set(licence /usr/share/doc/${package}/copyright)
    if(EXISTS ${licence})
      install(FILES ${licence} DESTINATION ${destination}/licences RENAME ${package} ${ARGN})
    endif()
  endforeach()
endfunction()

# Header-only libraries: the system's, or the copies below ALM_THIRD_PARTY that the Python wheel
# carries, so that a site needs a compiler and CMake alone to build the preloadable library.
set(ALM_THIRD_PARTY "" CACHE PATH "Folder with fmt, toml++ and xxhash.h, instead of the system's")

if(ALM_THIRD_PARTY)
  foreach(name fmt fmt-header-only)
    add_library(fmt::${name} INTERFACE IMPORTED)
    target_include_directories(fmt::${name} SYSTEM INTERFACE ${ALM_THIRD_PARTY})
    target_compile_definitions(fmt::${name} INTERFACE FMT_HEADER_ONLY=1)
  endforeach()
  include_directories(SYSTEM ${ALM_THIRD_PARTY})
else()
  find_package(fmt REQUIRED)
endif()

# Installs those copies, each with its licence as Debian keeps it.
function(alm_install_third_party destination)
  find_path(ALM_FMT_FOLDER fmt/core.h REQUIRED)
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

# What makes the installed library easy to find: a CMake package and a pkg-config file. Both work
# from wherever the installed tree is moved to.
include(CMakePackageConfigHelpers)

set(ALM_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/allemande)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/allemandeConfig.cmake.in
  ${CMAKE_BINARY_DIR}/allemandeConfig.cmake
  INSTALL_DESTINATION ${ALM_CMAKE_FOLDER}
)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/allemandeConfigVersion.cmake
  COMPATIBILITY SameMajorVersion
)
install(
  FILES ${CMAKE_BINARY_DIR}/allemandeConfig.cmake ${CMAKE_BINARY_DIR}/allemandeConfigVersion.cmake
  DESTINATION ${ALM_CMAKE_FOLDER}
)
install(EXPORT allemande-targets NAMESPACE allemande:: DESTINATION ${ALM_CMAKE_FOLDER})

cmake_path(SET pc_folder NORMALIZE /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH ALM_PC_TO_PREFIX ${pc_folder} /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/allemande.pc.in ${CMAKE_BINARY_DIR}/allemande.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/allemande.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Manual pages, from the commands' own --help and the C header.
set(man_folder ${CMAKE_BINARY_DIR}/man)
file(GLOB man_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/allemande/cli/*.py)
add_custom_command(
  OUTPUT ${man_folder}/man1/allemande.1
  COMMAND
    ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/make_man.py --output ${man_folder} --core
    $<TARGET_FILE:_core>
  DEPENDS
    _core
    ${man_sources}
    ${CMAKE_SOURCE_DIR}/tools/make_man.py
    ${CMAKE_SOURCE_DIR}/python/allemande/option_table.py
    ${CMAKE_SOURCE_DIR}/include/allemande/allemande.h
  VERBATIM
)
add_custom_target(man ALL DEPENDS ${man_folder}/man1/allemande.1)
install(DIRECTORY ${man_folder}/ DESTINATION ${CMAKE_INSTALL_MANDIR})

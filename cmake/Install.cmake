# What `cmake --install` puts where: the library, the headers, the tools, and the files by which other projects
# find them: CMake's find_package(godwit) and pkg-config's godwit.pc. Also the target godwit_tools.
include(CMakePackageConfigHelpers)

if(NOT TARGET godwit)
  return()
endif()

target_include_directories(godwit INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(godwit_public_headers PROPERTIES EXPORT_NAME headers)

install(TARGETS godwit godwit_public_headers EXPORT godwit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/godwit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The tools (apps/CMakeLists.txt installs them) find the library of their own installation.
get_property(tools DIRECTORY ${PROJECT_SOURCE_DIR}/apps PROPERTY BUILDSYSTEM_TARGETS)
foreach(tool ${tools})
  get_target_property(type ${tool} TYPE)
  if(type STREQUAL EXECUTABLE)
    list(APPEND programs ${tool})
  endif()
endforeach()
add_custom_target(godwit_tools DEPENDS ${programs})
file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(${programs} PROPERTIES INSTALL_RPATH $ORIGIN/${bin_to_lib})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/godwit)
install(EXPORT godwit NAMESPACE godwit:: FILE godwit-targets.cmake DESTINATION ${package_folder})
configure_package_config_file(cmake/godwit-config.cmake.in ${PROJECT_BINARY_DIR}/godwit-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/godwit-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/godwit-config.cmake ${PROJECT_BINARY_DIR}/godwit-config-version.cmake
        DESTINATION ${package_folder})

# Relative to itself, so that `cmake --install --prefix` may choose another place.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/godwit.pc.in ${PROJECT_BINARY_DIR}/godwit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/godwit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# cmake --install build/release --prefix /usr/local: the programs, libcoterie.so and libcoterie.a, their headers and what CMake and
# pkg-config need; the Java library where there is a JDK, and the Swift package. CoterieSpdx.cmake adds the bill of materials.
#
# What is installed has a component, which is a package of CoteriePackages.cmake: server, tools, sdk (what an app needs to run) and
# dev (what it takes to build one), java. --component NAME installs one alone.
include(CMakePackageConfigHelpers)
set(coterie_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Coterie)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
install(TARGETS coterie coterie_cpp EXPORT CoterieTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk NAMELINK_COMPONENT dev
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(TARGETS coterie_static EXPORT CoterieStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/device_sdk/include/coterie.h ${PROJECT_SOURCE_DIR}/device_sdk/include/coterie_train.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

# find_package(Coterie): a version fits if its first number is the same, as the library's name has that.
install(EXPORT CoterieTargets NAMESPACE Coterie:: DESTINATION ${coterie_cmake_dir} COMPONENT dev)
install(EXPORT CoterieStaticTargets NAMESPACE Coterie:: DESTINATION ${coterie_cmake_dir} COMPONENT dev)
set(COTERIE_STATIC_NEEDS_OPENSSL OFF)
set(coterie_static_requires libsodium)
if(COTERIE_STATIC_NEEDS MATCHES "OpenSSL")
  set(COTERIE_STATIC_NEEDS_OPENSSL ON)
  string(APPEND coterie_static_requires ", openssl >= 3.0")
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/CoterieConfig.cmake.in ${PROJECT_BINARY_DIR}/CoterieConfig.cmake
                              INSTALL_DESTINATION ${coterie_cmake_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CoterieConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CoterieConfig.cmake ${PROJECT_BINARY_DIR}/CoterieConfigVersion.cmake
        DESTINATION ${coterie_cmake_dir} COMPONENT dev)

file(RELATIVE_PATH coterie_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(module coterie coterie-static)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

if(TARGET coterie_jni)
  install(TARGETS coterie_jni LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT java)
  install(FILES $<TARGET_PROPERTY:coterie_jar,JAR> $<TARGET_PROPERTY:coterie_aar,AAR>
          DESTINATION ${CMAKE_INSTALL_DATADIR}/java COMPONENT java)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/device_sdk/bindings/swift DESTINATION ${CMAKE_INSTALL_DATADIR}/coterie COMPONENT dev)

if(COTERIE_BUILD_SERVER)
  install(TARGETS fl_server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
  install(TARGETS coterie_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  foreach(module coterie_mpi coterie_onednn_module coterie_opencl_module)
    if(TARGET ${module})  # where the program looks for it, beside bin
      install(TARGETS ${module} LIBRARY DESTINATION lib/coterie COMPONENT tools)
    endif()
  endforeach()
  if(TARGET coterie_texts)  # of bash, zsh, fish and man
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT tools)
  endif()
  # Units name the program where it is put, which is known when it is installed: a package's prefix is not that of the build.
  foreach(unit fl_server.service fl_server@.service)
    install(CODE "
      file(READ [[${PROJECT_SOURCE_DIR}/deploy/systemd/${unit}]] text)
      string(REPLACE [[/usr/bin/]] \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" text \"\${text}\")
      file(WRITE [[${PROJECT_BINARY_DIR}/systemd/${unit}]] \"\${text}\")
      file(INSTALL [[${PROJECT_BINARY_DIR}/systemd/${unit}]] DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")"
      COMPONENT server)
  endforeach()
  foreach(kind sysusers tmpfiles)
    install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/coterie.${kind} DESTINATION lib/${kind}.d RENAME coterie.conf COMPONENT server)
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/fl_server.json ${PROJECT_SOURCE_DIR}/deploy/fleet_scheduler.json
                ${PROJECT_SOURCE_DIR}/deploy/fleet_server.json
                ${PROJECT_SOURCE_DIR}/deploy/fleet_serving.json
          DESTINATION ${CMAKE_INSTALL_DATADIR}/coterie/examples COMPONENT server)
endif()

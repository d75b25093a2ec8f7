# cmake --install build/release --prefix /usr/local: the programs, libcoterie.so, its headers and what pkg-config
# needs; the Java library where there is a JDK, and the Swift package. CoterieSpdx.cmake adds the bill of materials.
include(GNUInstallDirs)
install(TARGETS coterie LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/device_sdk/include/coterie.h ${PROJECT_SOURCE_DIR}/device_sdk/include/coterie_train.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS coterie_cpp FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET coterie_jni)
  install(TARGETS coterie_jni LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES $<TARGET_PROPERTY:coterie_jar,JAR> $<TARGET_PROPERTY:coterie_aar,AAR>
          DESTINATION ${CMAKE_INSTALL_DATADIR}/java)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/device_sdk/bindings/swift DESTINATION ${CMAKE_INSTALL_DATADIR}/coterie)
file(RELATIVE_PATH coterie_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/coterie.pc.in ${PROJECT_BINARY_DIR}/coterie.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/coterie.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(COTERIE_BUILD_SERVER)
  install(TARGETS fl_server coterie_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# cmake --install (./dev install) and cpack (./dev package): the program, its plugin, and documents written by the
# program that was just installed or from its sources. PREFIX/lib/ridge is where the program looks for what is its own.
if(RIDGE_FUZZ OR NOT TARGET ridge)
  return()
endif()
# A packaged program finds its libraries there (install.cmake). The program in the build tree has the same run path:
# CMake would fill one of its own up with colons to the length of the installed one, and an empty element names the
# current folder.
set_target_properties(ridge ridge-lab PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib/ridge")
install(TARGETS ridge)
install(TARGETS ridge-lab OPTIONAL)  # where it was built
if(TARGET ridge_openvino)
  install(TARGETS ridge_openvino LIBRARY DESTINATION lib/ridge)
endif()
install(FILES LICENSE NOTICE DESTINATION share/doc/ridge)
install(CODE "set(source [[${PROJECT_SOURCE_DIR}]])
set(build [[${PROJECT_BINARY_DIR}]])
set(deps [[${RIDGE_DEPS}]])
set(static_libraries [[${NGHTTP2_LIBRARY}]])
set(version [[${PROJECT_VERSION}]])")
install(SCRIPT cmake/install.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ridge)
set(CPACK_PACKAGE_CONTACT "The ridge authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "plan, bench, tune and serve AI models beside the limits of the hardware")
set(CPACK_PACKAGE_DESCRIPTION "Every figure stands beside its physical limit. Models run in ONNX Runtime or OpenVINO, \
which come as Python
wheels: python3 -m venv /opt/ridge && /opt/ridge/bin/pip install onnxruntime openvino")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_SOURCE_DIR}/build/package")
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Not a dependency: it is searched at run time.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${RIDGE_DEPS}/openvino/openvino/libs")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-venv")  # for the engines: docs/install.md
include(CPack)

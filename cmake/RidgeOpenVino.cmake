# The plugin for OpenVINO, a shared library of its own beside the program: src/engine/openvino/plugin.
#   libridge_openvino.so.2641      for libopenvino.so.2641, which is 2026.4.1
# The program is not linked to it and starts without it. Built where OpenVINO's wheel is (see ./dev setup); the wheel's
# own package file would look for more than headers and one library.
if(RIDGE_FUZZ)
  return()
endif()
file(GLOB openvino_library CONFIGURE_DEPENDS "${RIDGE_DEPS}/openvino/openvino/libs/libopenvino.so.*")
if(NOT openvino_library)
  message(STATUS "No OpenVINO in ${RIDGE_DEPS}/openvino: ridge is built without the engine openvino")
  return()
endif()
cmake_path(GET openvino_library EXTENSION LAST_ONLY openvino_number)

add_library(ridge_openvino_runtime SHARED IMPORTED)
set_target_properties(ridge_openvino_runtime PROPERTIES IMPORTED_LOCATION "${openvino_library}")
target_include_directories(ridge_openvino_runtime SYSTEM INTERFACE "${RIDGE_DEPS}/openvino/openvino/include")

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/engine/openvino/plugin/*.cc")
add_library(ridge_openvino MODULE ${sources})
ridge_several_at_a_time(ridge_openvino)
# OpenVINO's threads are TBB's; its library is in the process before the plugin is. Of the engines it links only what is
# shared: with ONNX's messages in it, protobuf would find them registered twice and end the process.
target_link_libraries(ridge_openvino PRIVATE ridge_engine_shared ridge_openvino_runtime
                                             ${RIDGE_DEPS}/openvino/openvino/libs/libtbb.so.12)
# It shows one function; its copies of ridge's own code stay its own. The program finds OpenVINO, so its only path is to
# what a package has beside it (install.cmake).
target_link_options(ridge_openvino PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(ridge_openvino PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                                SUFFIX ".so${openvino_number}" BUILD_WITH_INSTALL_RPATH ON
                                                INSTALL_RPATH "$ORIGIN")

# The program that opens it finds it beside itself.
foreach(program ridge engine_test)
  if(TARGET ${program})
    add_dependencies(${program} ridge_openvino)
  endif()
endforeach()

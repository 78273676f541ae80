# The libraries outside this repository, as targets. Debian's come from the system, the others from .deps (see ./dev
# setup).
set(RIDGE_DEPS "${PROJECT_SOURCE_DIR}/.deps" CACHE PATH "Where ./dev setup puts what Debian does not have")
if(NOT EXISTS "${RIDGE_DEPS}/onnx/lib/libonnx.a")
  message(FATAL_ERROR "The dependencies are not there yet: run ./dev setup first (looked in ${RIDGE_DEPS})")
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(GTest REQUIRED)
find_package(Protobuf REQUIRED)
# Charts of pages, embedded as text (Chart.js 3 and 4 name their whole file differently).
find_file(RIDGE_CHART_JS NAMES chart.min.js chart.umd.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
if(NOT TARGET SQLite3::SQLite3)  # its name since CMake 4.3
  add_library(SQLite3::SQLite3 ALIAS SQLite::SQLite3)
endif()

# ONNX: schemas, checker, shape inference; <onnx/onnx_pb.h> and its friends. Its own package file asks for a protobuf
# package that Debian does not install, so the targets are read directly.
include("${RIDGE_DEPS}/onnx/lib/cmake/ONNX/ONNXTargets.cmake")
add_library(ridge_onnx INTERFACE)
target_link_libraries(ridge_onnx INTERFACE ONNX::onnx)


# Tokenizers: regular expressions and Unicode's normal forms. Linked statically, for the same reason.
find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY libpcre2-8.a REQUIRED)
add_library(ridge_pcre2 INTERFACE)
target_include_directories(ridge_pcre2 SYSTEM INTERFACE "${PCRE2_INCLUDE_DIR}")
target_compile_definitions(ridge_pcre2 INTERFACE PCRE2_STATIC PCRE2_CODE_UNIT_WIDTH=8)
target_link_libraries(ridge_pcre2 INTERFACE "${PCRE2_LIBRARY}")
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY libutf8proc.a REQUIRED)
add_library(ridge_utf8proc INTERFACE)
target_include_directories(ridge_utf8proc SYSTEM INTERFACE "${UTF8PROC_INCLUDE_DIR}")
target_compile_definitions(ridge_utf8proc INTERFACE UTF8PROC_STATIC)
target_link_libraries(ridge_utf8proc INTERFACE "${UTF8PROC_LIBRARY}")

# ONNX Runtime: headers only, <onnxruntime_c_api.h>. The library is opened at run time.
add_library(ridge_onnxruntime_headers INTERFACE)
target_include_directories(ridge_onnxruntime_headers SYSTEM INTERFACE
                           "${RIDGE_DEPS}/onnxruntime-headers/usr/include/onnxruntime")
target_compile_definitions(ridge_onnxruntime_headers INTERFACE ORT_API_MANUAL_INIT)

# OpenCL: headers only, <CL/cl.h>. The loader is opened at run time.
find_path(OPENCL_INCLUDE_DIR CL/cl.h REQUIRED)

# Boost.Asio and Beast, headers only.
find_path(BOOST_INCLUDE_DIR boost/beast/core.hpp REQUIRED)
add_library(ridge_asio INTERFACE)
target_include_directories(ridge_asio SYSTEM INTERFACE "${BOOST_INCLUDE_DIR}")
target_compile_definitions(ridge_asio INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ERROR_CODE_HEADER_ONLY)
target_link_libraries(ridge_asio INTERFACE Threads::Threads)

# TLS. Shared: its corrections come from the distribution.
find_package(OpenSSL 3.0 REQUIRED)

# HTTP/2's frames, which carry gRPC. Linked statically: packages hold one library less.
find_path(NGHTTP2_INCLUDE_DIR nghttp2/nghttp2.h REQUIRED)
find_library(NGHTTP2_LIBRARY libnghttp2.a REQUIRED)
add_library(ridge_nghttp2 INTERFACE)
target_include_directories(ridge_nghttp2 SYSTEM INTERFACE "${NGHTTP2_INCLUDE_DIR}")
target_link_libraries(ridge_nghttp2 INTERFACE "${NGHTTP2_LIBRARY}")
target_compile_definitions(ridge_nghttp2 INTERFACE NGHTTP2_STATICLIB)

# config.pbtxt's schema, "model_config.pb.h", generated from the descriptors in tritonclient's wheel.
set(proto_dir "${PROJECT_BINARY_DIR}/proto")
file(MAKE_DIRECTORY "${proto_dir}")
add_custom_command(
  OUTPUT "${proto_dir}/model_config.pb.cc" "${proto_dir}/model_config.pb.h"
  COMMAND protobuf::protoc "--descriptor_set_in=${RIDGE_DEPS}/proto/inference.desc" "--cpp_out=${proto_dir}"
          model_config.proto
  DEPENDS "${RIDGE_DEPS}/proto/inference.desc"
  VERBATIM)
add_library(ridge_model_config_proto STATIC "${proto_dir}/model_config.pb.cc")
# Debian's libprotobuf is built without the thread sanitizer, for which its headers lay out map fields differently.
if(RIDGE_SANITIZE MATCHES "thread")
  target_compile_options(ridge_model_config_proto PUBLIC -U__SANITIZE_THREAD__)
endif()
target_include_directories(ridge_model_config_proto SYSTEM PUBLIC "${proto_dir}")
target_link_libraries(ridge_model_config_proto PUBLIC protobuf::libprotobuf)
target_compile_options(ridge_model_config_proto PRIVATE -w -O1)

# The schemas of what gRPC serves: "grpc_service.pb.h" from the same descriptors, and those of src/front/grpc/schema.
# Messages only: their services are served without generated code.
set(service_sources "${proto_dir}/grpc_service.pb.cc")
add_custom_command(
  OUTPUT "${proto_dir}/grpc_service.pb.cc" "${proto_dir}/grpc_service.pb.h"
  COMMAND protobuf::protoc "--descriptor_set_in=${RIDGE_DEPS}/proto/inference.desc" "--cpp_out=${proto_dir}"
          grpc_service.proto
  DEPENDS "${RIDGE_DEPS}/proto/inference.desc"
  VERBATIM)
set(schema_dir "${PROJECT_SOURCE_DIR}/src/front/grpc/schema")
file(GLOB schemas CONFIGURE_DEPENDS "${schema_dir}/*.proto")
# Reflection's older version, which many clients ask for, differs by its package alone.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${schema_dir}/reflection_v1.proto")
file(READ "${schema_dir}/reflection_v1.proto" reflection)
string(REPLACE "package grpc.reflection.v1;" "package grpc.reflection.v1alpha;" reflection "${reflection}")
file(CONFIGURE OUTPUT "${proto_dir}/reflection_v1alpha.proto" CONTENT "${reflection}" @ONLY)
list(APPEND schemas "${proto_dir}/reflection_v1alpha.proto")
foreach(schema IN LISTS schemas)
  get_filename_component(stem "${schema}" NAME_WE)
  add_custom_command(
    OUTPUT "${proto_dir}/${stem}.pb.cc" "${proto_dir}/${stem}.pb.h"
    COMMAND protobuf::protoc "--proto_path=${schema_dir}" "--proto_path=${proto_dir}" "--cpp_out=${proto_dir}"
            "${schema}"
    DEPENDS "${schema}"
    VERBATIM)
  list(APPEND service_sources "${proto_dir}/${stem}.pb.cc")
endforeach()
add_library(ridge_service_proto STATIC ${service_sources})
target_link_libraries(ridge_service_proto PUBLIC ridge_model_config_proto)
target_compile_options(ridge_service_proto PRIVATE -w -O1)

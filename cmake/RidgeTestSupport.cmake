# Fakes of the libraries that a test machine lacks, in <build>/test-support: tests/support/*.cc.
#   libnvidia-ml.so.1      NVIDIA's management library, plays scripted GPUs; libnvidia-ml-old.so.1 lacks newer functions
#   libcuda.so.1           NVIDIA's driver, plays scripted GPUs and does their work on the CPU; -old is of CUDA 10,
#                          -ancient too old to be used
#   libnvrtc.so.1          its run-time compiler, for the same; libcublasLt.so.1 its matrix multiplications
set(RIDGE_TEST_SUPPORT "${PROJECT_BINARY_DIR}/test-support")
set(RIDGE_FAKES "")

# NVIDIA's own headers, which ./dev setup brings (cublasLt.h as its Python bindings declare it): the fakes define what
# these declare, so a wrong signature does not compile. Where they are not there (./dev build alone), neither are the
# fakes, and tests that open one fail saying which file is missing.
set(vendor_headers ON)
foreach(header vendor-headers/cuda.h vendor-headers/nvml.h vendor-headers/cublasLt.h nvrtc/nvrtc.h)
  file(GLOB found CONFIGURE_DEPENDS "${RIDGE_DEPS}/${header}")
  if(NOT found)
    set(vendor_headers OFF)
  endif()
endforeach()
add_library(ridge_vendor_headers INTERFACE)
target_include_directories(ridge_vendor_headers SYSTEM INTERFACE "${RIDGE_DEPS}/vendor-headers" "${RIDGE_DEPS}/nvrtc")
# They declare what older drivers have, too, and give no function the name of its newest version.
target_compile_definitions(ridge_vendor_headers INTERFACE __CUDA_API_VERSION_INTERNAL NVML_NO_UNVERSIONED_FUNC_DEFS)

# ridge_fake(SOURCE NAME [DEFINITION...])
function(ridge_fake source name)
  add_library(fake_${name} MODULE "${PROJECT_SOURCE_DIR}/tests/support/${source}.cc")
  target_include_directories(fake_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(fake_${name} PRIVATE -O0)  # as tests
  # What it has read stays until the process ends (scripted_gpus.h).
  target_link_options(fake_${name} PRIVATE LINKER:-z,nodelete)
  set_target_properties(fake_${name} PROPERTIES OUTPUT_NAME "${name}" SUFFIX ".so.1" CXX_VISIBILITY_PRESET hidden
                                                LIBRARY_OUTPUT_DIRECTORY "${RIDGE_TEST_SUPPORT}")
  target_compile_definitions(fake_${name} PRIVATE ${ARGN})
  target_link_libraries(fake_${name} PRIVATE ridge_vendor_headers ${CMAKE_DL_LIBS})
  set(RIDGE_FAKES ${RIDGE_FAKES} fake_${name} PARENT_SCOPE)
endfunction()

if(vendor_headers AND NOT RIDGE_FUZZ)
  ridge_fake(fake_nvml nvidia-ml)
  ridge_fake(fake_nvml nvidia-ml-old FAKE_NVML_OLD)
  ridge_fake(fake_nvrtc nvrtc)
  ridge_fake(fake_cublaslt cublasLt)
  target_link_libraries(fake_cublasLt PRIVATE ridge_base)
  # Compiled once; what an older driver lacks is hidden in its library.
  add_library(fake_cuda_objects OBJECT tests/support/fake_cuda.cc tests/support/fake_cuda_work.cc
                                       tests/support/fake_cuda_ipc.cc)
  target_link_libraries(fake_cuda_objects PRIVATE ridge_gpu ridge_vendor_headers)
  target_compile_options(fake_cuda_objects PRIVATE -O0)
  set_target_properties(fake_cuda_objects PROPERTIES CXX_VISIBILITY_PRESET hidden)
  foreach(driver cuda cuda-old cuda-ancient)
    add_library(fake_${driver} MODULE $<TARGET_OBJECTS:fake_cuda_objects>)
    target_link_libraries(fake_${driver} PRIVATE ridge_gpu)
    target_link_options(fake_${driver} PRIVATE LINKER:-z,nodelete)
    set_target_properties(fake_${driver} PROPERTIES OUTPUT_NAME "${driver}" SUFFIX ".so.1" LINKER_LANGUAGE CXX
                                                    LIBRARY_OUTPUT_DIRECTORY "${RIDGE_TEST_SUPPORT}")
    list(APPEND RIDGE_FAKES fake_${driver})
  endforeach()
  foreach(driver old ancient)
    target_link_options(fake_cuda-${driver} PRIVATE
                        "LINKER:--version-script=${PROJECT_SOURCE_DIR}/tests/support/cuda/${driver}.map")
  endforeach()
endif()

# The tests that load them.
foreach(test gpu_test limits_test doctor_test lab_test power_test telemetry_test serve_test)
  if(TARGET ${test})
    target_compile_definitions(${test} PRIVATE RIDGE_TEST_SUPPORT="${RIDGE_TEST_SUPPORT}")
    target_include_directories(${test} PRIVATE tests/support)
    if(RIDGE_FAKES)
      add_dependencies(${test} ${RIDGE_FAKES})
    endif()
  endif()
endforeach()

#   libridge-provider.so.1 needs libridge-needing.so.1, which needs libridge-needed.so.1; libridge-builtins.so.1 is by
#   itself. They lie in a folder each and name none, as packages of python do.
function(ridge_stub name)
  set(source "${PROJECT_BINARY_DIR}/test-support/${name}.cc")
  file(CONFIGURE OUTPUT "${source}"
       CONTENT "extern \"C\" int in_${name}();\nextern \"C\" int in_${name}() { return 1; }\n")
  add_library(stub_${name} SHARED EXCLUDE_FROM_ALL "${source}")
  set_target_properties(stub_${name} PROPERTIES OUTPUT_NAME "ridge-${name}" VERSION 1 SKIP_BUILD_RPATH ON
                                                LIBRARY_OUTPUT_DIRECTORY "${RIDGE_TEST_SUPPORT}")
  target_link_options(stub_${name} PRIVATE LINKER:--no-as-needed)
  target_link_libraries(stub_${name} PRIVATE ${ARGN})
endfunction()

#   libonnxruntime-gpu.so.1   ONNX Runtime with NVIDIA's providers, for engine_test; the real one computes, on
#                             libcuda.so.1's GPUs
if(TARGET engine_test)
  target_compile_definitions(engine_test PRIVATE RIDGE_TEST_SUPPORT="${RIDGE_TEST_SUPPORT}")
  ridge_stub(builtins)
  ridge_stub(needed)
  ridge_stub(needing stub_needed)
  ridge_stub(provider stub_needing)
  add_dependencies(engine_test stub_builtins stub_provider)
  if(RIDGE_FAKES)
    ridge_fake(fake_onnxruntime_gpu onnxruntime-gpu)
    target_link_libraries(fake_onnxruntime-gpu PRIVATE ridge_onnxruntime_headers)
    add_dependencies(engine_test ${RIDGE_FAKES})
  endif()
endif()

# ridge's own declarations against those headers: they compile, or they differ.
if(RIDGE_FAKES AND TARGET gpu_test)
  foreach(interface cuda nvml nvrtc cublasLt)
    add_library(abi_${interface} OBJECT tests/abi/${interface}_abi_check.cc)
    target_link_libraries(abi_${interface} PRIVATE ridge_gpu ridge_vendor_headers)
    add_dependencies(gpu_test abi_${interface})
  endforeach()
endif()

# Models written as text, which the passes are tested on too.
if(TARGET precision_test)
  target_sources(precision_test PRIVATE "${PROJECT_SOURCE_DIR}/src/model/test_models_test.cc")
endif()

# Answers to tests about tokenizers and chat templates.
if(TARGET ridge_text AND NOT RIDGE_FUZZ)
  add_executable(text_answers tests/support/text_answers.cc)
  target_link_libraries(text_answers PRIVATE ridge_text ridge_base nlohmann_json::nlohmann_json)
  set_target_properties(text_answers PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${RIDGE_TEST_SUPPORT}")
endif()

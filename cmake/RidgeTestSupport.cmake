# Libraries that stand in for what a test machine lacks, in <build>/test-support: tests/support/*.cc.
#   libnvidia-ml.so.1      NVIDIA's management library, plays scripted GPUs; libnvidia-ml-old.so.1 lacks the newer functions
#   libcuda.so.1           NVIDIA's driver, plays scripted GPUs and does their work on the CPU; -old is of CUDA 10, -ancient
#                          too old to be used
#   libnvrtc.so.1          its run-time compiler, for the same; libcublasLt.so.1 its matrix multiplications
#   libnccl.so.1           NCCL, which works on the memory of these GPUs; -ancient too old to be used
set(RIDGE_TEST_SUPPORT "${PROJECT_BINARY_DIR}/test-support")
set(RIDGE_FAKES "")

# ridge_fake(SOURCE NAME [DEFINITION...])
function(ridge_fake source name)
  add_library(fake_${name} MODULE "${PROJECT_SOURCE_DIR}/tests/support/${source}.cc")
  target_include_directories(fake_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(fake_${name} PRIVATE -O0)  # as tests
  target_link_options(fake_${name} PRIVATE LINKER:-z,nodelete)  # what it has read stays until the process ends (scripted_gpus.h)
  set_target_properties(fake_${name} PROPERTIES OUTPUT_NAME "${name}" SUFFIX ".so.1" CXX_VISIBILITY_PRESET hidden
                                                LIBRARY_OUTPUT_DIRECTORY "${RIDGE_TEST_SUPPORT}")
  target_compile_definitions(fake_${name} PRIVATE ${ARGN})
  set(RIDGE_FAKES ${RIDGE_FAKES} fake_${name} PARENT_SCOPE)
endfunction()

if(NOT RIDGE_FUZZ)
  ridge_fake(fake_nvml nvidia-ml)
  ridge_fake(fake_nvml nvidia-ml-old FAKE_NVML_OLD)
  ridge_fake(fake_nvrtc nvrtc)
  ridge_fake(fake_cublaslt cublasLt)
  target_link_libraries(fake_cublasLt PRIVATE ridge_base)
  ridge_fake(fake_nccl nccl)
  target_link_libraries(fake_nccl PRIVATE ridge_base)
  ridge_fake(fake_nccl nccl-ancient FAKE_NCCL_ANCIENT)
  target_link_libraries(fake_nccl-ancient PRIVATE ridge_base)
  # Compiled once; what an older driver lacks is hidden in its library.
  add_library(fake_cuda_objects OBJECT tests/support/fake_cuda.cc tests/support/fake_cuda_work.cc
                                       tests/support/fake_cuda_ipc.cc)
  target_link_libraries(fake_cuda_objects PRIVATE ridge_gpu)
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
  if(TARGET ${test} AND RIDGE_FAKES)
    target_compile_definitions(${test} PRIVATE RIDGE_TEST_SUPPORT="${RIDGE_TEST_SUPPORT}")
    add_dependencies(${test} ${RIDGE_FAKES})
  endif()
endforeach()

#   libonnxruntime-gpu.so.1   ONNX Runtime with NVIDIA's providers, for engine_test; it computes by the real one, on libcuda.so.1's GPUs
if(NOT RIDGE_FUZZ AND TARGET engine_test)
  ridge_fake(fake_onnxruntime_gpu onnxruntime-gpu)
  target_link_libraries(fake_onnxruntime-gpu PRIVATE ridge_onnxruntime_headers ${CMAKE_DL_LIBS})
  target_compile_definitions(engine_test PRIVATE RIDGE_TEST_SUPPORT="${RIDGE_TEST_SUPPORT}")
  add_dependencies(engine_test ${RIDGE_FAKES})
endif()

# Our own declarations of NVIDIA's interfaces, against NVIDIA's headers (from ./dev setup for tests; where they are not there, nothing is
# compared). They compile, or they differ. cublasLt.h and nccl.h come only in packages of hundreds of megabytes.
foreach(interface cuda nvml nvrtc)
  find_path(RIDGE_HEADER_${interface} ${interface}.h PATHS "${RIDGE_DEPS}/vendor-headers" "${RIDGE_DEPS}/nvrtc" NO_DEFAULT_PATH)
  if(RIDGE_HEADER_${interface} AND TARGET gpu_test)
    add_library(abi_${interface} OBJECT tests/abi/${interface}_abi_check.cc)
    target_include_directories(abi_${interface} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_include_directories(abi_${interface} SYSTEM PRIVATE "${RIDGE_HEADER_${interface}}")
    target_link_libraries(abi_${interface} PRIVATE ridge_base)
    add_dependencies(gpu_test abi_${interface})
  endif()
endforeach()

# Models written as text, which the passes are tested on too.
if(TARGET precision_test)
  target_sources(precision_test PRIVATE "${PROJECT_SOURCE_DIR}/src/model/test_models_test.cc")
endif()

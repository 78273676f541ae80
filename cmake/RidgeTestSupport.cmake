# Libraries that stand in for what a test machine lacks, in <build>/test-support: tests/support/*.cc.
#   libnvidia-ml.so.1      NVIDIA's management library, plays scripted cards; libnvidia-ml-old.so.1 lacks the newer functions
set(RIDGE_TEST_SUPPORT "${PROJECT_BINARY_DIR}/test-support")

function(ridge_fake_nvml target name)
  add_library(${target} MODULE "${PROJECT_SOURCE_DIR}/tests/support/fake_nvml.cc")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${name}" SUFFIX ".so.1" CXX_VISIBILITY_PRESET hidden
                                             LIBRARY_OUTPUT_DIRECTORY "${RIDGE_TEST_SUPPORT}")
  target_compile_definitions(${target} PRIVATE ${ARGN})
endfunction()

if(NOT RIDGE_FUZZ)
  ridge_fake_nvml(fake_nvml nvidia-ml)
  ridge_fake_nvml(fake_nvml_old nvidia-ml-old FAKE_NVML_OLD)
endif()

# The test that loads them.
foreach(test gpu_test)
  if(TARGET ${test} AND TARGET fake_nvml)
    target_compile_definitions(${test} PRIVATE RIDGE_TEST_SUPPORT="${RIDGE_TEST_SUPPORT}")
    add_dependencies(${test} fake_nvml fake_nvml_old)
  endif()
endforeach()

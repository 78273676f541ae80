# Included into ONNX's own build (./dev setup): its library of 60 small sources with large headers compiles twenty at a
# time, in 40 % of the time. The generated sources of its other target define the same names and stay apart.
cmake_language(DEFER CALL set_target_properties onnx PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20)

// mlp: 1024 → 4096 → 4096 → 1000, ReLU between; 25,076,712 parameters, about ResNet-50's number but each read once per
// row: memory-bound at batch 1, compute-bound at large batches.
#include "zoo/builder.h"
#include "zoo/models.h"
#include "zoo/shape_words.h"

namespace ridge::zoo {

Blueprint mlp(const ZooOptions& options) {
  const Dimension batch = batch_dimension(options);
  GraphBuilder b("mlp", options.opset);
  Value x = b.input("input", DataType::kFp32, {batch, int64_t{1024}});
  x = b.node("layers.1", "Relu", {b.gemm("layers.0", x, 1024, 4096, kReluGain)});
  x = b.node("layers.3", "Relu", {b.gemm("layers.2", x, 4096, 4096, kReluGain)});
  b.output(b.gemm("layers.4", x, 4096, 1000, kReluGain, "output"), DataType::kFp32, {batch, int64_t{1000}});
  return b.blueprint();
}

}  // namespace ridge::zoo

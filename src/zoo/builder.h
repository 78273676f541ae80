// GraphBuilder: the vocabulary in which the reference models are written. Each call adds nodes and weights to a
// Blueprint and returns the name of the result. `path` is the layer's name in the published implementation
// ("layer1.0.conv1"): weights are called <path>.weight, nodes /<path>/<Op>. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "zoo/blueprint.h"

namespace ridge::zoo {

// Standard deviation of weights that keeps unit variance: gain / √fan_in.
inline constexpr float kLinearGain = 1.0F;
inline constexpr float kReluGain = 1.4142135F;  // He et al., Delving deep into rectifiers, 2015, eq. 10
inline constexpr float kSiluGain = 1.676F;      // 1 / √E[silu(z)²], z standard normal
// Factor on the last weights of a residual branch, so that a chain of blocks does not let the variance grow.
inline constexpr float kResidualScale = 0.3F;

using Value = std::string;

// An image-like value [batch, channels, height, width].
struct Feature {
  Value value;
  int64_t channels = 0;
};

struct ConvOptions {
  int64_t kernel = 1;
  int64_t stride = 1;
  bool bias = true;
  float gain = kLinearGain;
};

class GraphBuilder {
 public:
  GraphBuilder(std::string name, int64_t opset);

  Value input(const std::string& name, DataType type, std::vector<Dimension> shape);
  void output(const Value& value, DataType type, std::vector<Dimension> shape);

  Value weight(const std::string& name, Shape shape, float deviation, float mean = 0, bool parameter = true);
  Value integers(const std::vector<int64_t>& values);  // 1-D INT64 constant, shared between uses
  Value integer(int64_t value);                        // scalar INT64
  Value real(float value);                             // scalar FP32
  Value table(const std::string& name, Shape shape, std::vector<float> values, bool parameter = false);
  Value integer_table(const std::string& name, Shape shape, std::vector<int64_t> values);

  // One operator with one output, or with `outputs` of them. `result` names the first output.
  Value node(const std::string& path, const std::string& op, std::vector<Value> inputs, Attributes attributes = {},
             const Value& result = {});
  std::vector<Value> nodes(const std::string& path, const std::string& op, std::vector<Value> inputs, size_t outputs,
                           Attributes attributes = {});

  Value add(const std::string& path, const Value& a, const Value& b, const Value& result = {});
  Value mul(const std::string& path, const Value& a, const Value& b);
  Value reshape(const std::string& path, const Value& x, const std::vector<int64_t>& shape);
  Value transpose(const std::string& path, const Value& x, const std::vector<int64_t>& order);
  Value concat(const std::string& path, std::vector<Value> parts, int64_t axis, const Value& result = {});
  Value silu(const std::string& path, const Value& x);
  Value gelu(const std::string& path, const Value& x);  // exact form, by Erf, as exports before opset 20 have it

  // x [.., in] · weight [in, out] (+ bias [out]): MatMul and Add, as transformer exports have it.
  Value linear(const std::string& path, const Value& x, int64_t in, int64_t out, float deviation, bool bias = true);
  // Gemm with weight [out, in], as exports of torch.nn.Linear on matrices have it.
  Value gemm(const std::string& path, const Value& x, int64_t in, int64_t out, float gain, const Value& result = {});
  // Square kernel, padding kernel / 2.
  Feature conv(const std::string& path, const Feature& x, int64_t out, const ConvOptions& options);
  // Statistics 0 and 1; scale `gamma`.
  Feature batch_norm(const std::string& path, const Feature& x, float gamma);
  Value layer_norm(const std::string& path, const Value& x, int64_t size, float epsilon, const Value& result = {});
  // GroupNorm as exports before opset 18 have it: reshape, InstanceNormalization, reshape back, scale and shift.
  Feature group_norm(const std::string& path, const Feature& x, int64_t groups, float epsilon);

  const Blueprint& blueprint() const { return blueprint_; }

 private:
  std::string unique(const std::string& name);
  Value constant(const std::string& name, Shape shape, std::variant<std::vector<int64_t>, std::vector<float>> values,
                 bool parameter);

  Blueprint blueprint_;
  std::map<std::string, int> used_;  // node names and their number of requests
  std::set<std::string> shared_;     // constants that several nodes use
};

}  // namespace ridge::zoo

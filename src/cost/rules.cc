#include "cost/rules.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace ridge::cost {
namespace {

using Table = std::unordered_map<std::string_view, const Rule*>;

struct Domain {
  std::string_view name;
  Table rules;
};

std::array<Domain, 4> build() {
  std::array<Domain, 4> domains = {Domain{kOnnx, {}}, {kOnnxMl, {}}, {kMicrosoft, {}}, {kBlocked, {}}};
  for (std::span<const Rule> rules : {elementwise_rules(), matmul_rules(), convolution_rules(), pooling_rules(),
                                      recurrent_rules(), attention_rules(), normalisation_rules(), reduction_rules(),
                                      movement_rules(), sampling_rules(), quantisation_rules(), control_rules()})
    for (const Rule& rule : rules)
      for (Domain& domain : domains)
        if (domain.name == rule.domain) domain.rules.emplace(rule.op, &rule);
  return domains;
}

}  // namespace

const Rule* find_rule(std::string_view domain, std::string_view op) {
  static const std::array<Domain, 4> domains = build();
  if (domain == "ai.onnx") domain = kOnnx;
  for (const Domain& candidate : domains) {
    if (candidate.name != domain) continue;
    auto found = candidate.rules.find(op);
    if (found != candidate.rules.end()) return found->second;
    break;
  }
  // Engines use their own domain for standard operators before and after standardisation.
  return domain == kMicrosoft ? find_rule(kOnnx, op) : nullptr;
}

const Operator& operator_of(std::string_view domain, std::string_view op) {
  static constexpr Operator kUnknown;
  const Rule* rule = find_rule(domain, op);
  return rule != nullptr ? rule->facts : kUnknown;
}

Context::Context(const model::Node& node_in, std::span<const Operand> inputs_in, std::span<const Operand> outputs_in,
                 Precision precision_in)
    : node(node_in), inputs(inputs_in), outputs(outputs_in), precision(precision_in) {
  for (const Operand& input : inputs) work.read.push_back(bytes(input));
  for (const Operand& output : outputs) work.written.push_back(bytes(output));
}

double Context::elements(const Shape* shape) {
  if (shape == nullptr) return 0;
  double product = 1;
  for (int64_t dimension : *shape) product *= static_cast<double>(dimension);
  return product;
}

bool Context::known(const Operand& operand) {
  return operand.shape && std::all_of(operand.shape->begin(), operand.shape->end(), [](int64_t d) { return d >= 0; });
}

const Shape* Context::shape_of(std::span<const Operand> operands, size_t i) {
  if (i >= operands.size() || !operands[i].present) return nullptr;
  if (known(operands[i])) return &*operands[i].shape;
  mark_unknown();
  return nullptr;
}

double Context::bytes(const Operand& operand) const {
  return operand.present && known(operand) ? elements(&*operand.shape) * stored_size(operand.type, precision) : 0;
}

void Context::make_view() {
  work.view = true;
  std::fill(work.read.begin(), work.read.end(), 0.0);
  std::fill(work.written.begin(), work.written.end(), 0.0);
}

void per_output_element(Context& context, double flops) { context.add_flops(flops * context.output_elements(0)); }
void per_input_element(Context& context, double flops) { context.add_flops(flops * context.input_elements(0)); }
void moves(Context&, double) {}

}  // namespace ridge::cost

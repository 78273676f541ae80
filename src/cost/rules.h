// Private to cost/: one row per operator, and the context of a row's function.
//
// A rule starts from the default (every operand present is read or written once, no FLOPs) and changes what differs.
// The conventions that these tables encode are written down for readers in docs/methods.md, "Cost conventions".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/count_node.h"
#include "cost/operators.h"
#include "model/domains.h"

namespace ridge::cost {

// One node while its rule runs. One thread.
class Context {
 public:
  Context(const model::Node& node, std::span<const Operand> inputs, std::span<const Operand> outputs,
          Precision precision);

  const model::Node& node;
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  Precision precision;
  NodeWork work;

  bool has_input(size_t i) const { return i < inputs.size() && inputs[i].present; }
  bool has_output(size_t i) const { return i < outputs.size() && outputs[i].present; }
  // The whole shape, or null; an unknown shape marks the node.
  const Shape* input_shape(size_t i) { return shape_of(inputs, i); }
  const Shape* output_shape(size_t i) { return shape_of(outputs, i); }
  // Elements, 0 if not known or absent.
  double input_elements(size_t i) { return elements(input_shape(i)); }
  double output_elements(size_t i) { return elements(output_shape(i)); }
  double output_bytes(size_t i) const { return i < outputs.size() ? bytes(outputs[i]) : 0; }
  void mark_unknown() { work.cost.shapes_known = false; }

  int64_t integer(const char* name, int64_t otherwise) const { return model::attribute_or(node, name, otherwise); }
  double number(const char* name, double otherwise) const { return model::attribute_or(node, name, otherwise); }
  std::string text(const char* name) const { return model::attribute_or(node, name, std::string()); }
  std::vector<int64_t> integers(const char* name) const {
    return model::attribute_or(node, name, std::vector<int64_t>());
  }

  // Multiply-adds: 2 FLOPs each; `needed` of them are unavoidable.
  void multiply_adds(double macs, double needed) {
    work.cost.macs += macs;
    work.cost.flops += 2 * macs;
    work.cost.needed_flops += 2 * needed;
  }
  void multiply_adds(double macs) { multiply_adds(macs, macs); }
  void add_flops(double flops) { work.cost.flops += flops; }
  // Nothing is read or written: the outputs are views of the first input.
  void make_view();

  static double elements(const Shape* shape);
  static bool known(const Operand& operand);

 private:
  const Shape* shape_of(std::span<const Operand> operands, size_t i);
  double bytes(const Operand& operand) const;
};

using RuleFunction = void (*)(Context& context, double factor);

struct Rule {
  std::string_view domain;
  std::string_view op;
  RuleFunction function;
  double factor = 0;  // its meaning depends on the function, mostly FLOPs per element
  Operator facts = {};
};

using enum Values;
using enum Buffer;
using enum Backward;
using enum Integers;
using enum KernelFamily;
using enum Trait;

// Null if there is none.
const Rule* find_rule(std::string_view domain, std::string_view op);

constexpr std::string_view kOnnx = "";
using model::kBlocked;
using model::kMicrosoft;
using model::kOnnxMl;

std::span<const Rule> elementwise_rules();
std::span<const Rule> matmul_rules();
std::span<const Rule> convolution_rules();
std::span<const Rule> pooling_rules();
std::span<const Rule> recurrent_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> normalisation_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> movement_rules();
std::span<const Rule> sampling_rules();
std::span<const Rule> quantisation_rules();
std::span<const Rule> control_rules();

// Shared by several tables.
void per_output_element(Context& context, double flops);  // flops × elements of output 0
void per_input_element(Context& context, double flops);   // flops × elements of input 0
void moves(Context& context, double);                     // every operand once, no FLOPs
// FLOPs per element of an activation that is fused into another operator, by its name ("Relu"); "" is 0.
double activation_flops(std::string_view name);

}  // namespace ridge::cost

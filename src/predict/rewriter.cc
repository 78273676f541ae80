#include "predict/rewriter.h"

#include <algorithm>

namespace ridge::predict {
namespace {

// The nodes whose results are wanted, directly or through others.
std::vector<bool> wanted_nodes(const model::Graph& graph, const std::vector<bool>& alive,
                               const std::vector<int>& maker) {
  std::vector<bool> wanted(graph.nodes.size());
  std::vector<int> open;
  auto want = [&](int tensor) {
    const int n = tensor < 0 ? -1 : maker[static_cast<size_t>(tensor)];
    if (n < 0 || !alive[static_cast<size_t>(n)] || wanted[static_cast<size_t>(n)]) return;
    wanted[static_cast<size_t>(n)] = true;
    open.push_back(n);
  };
  for (int tensor : graph.outputs) want(tensor);
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    for (int tensor : graph.nodes[static_cast<size_t>(n)].inputs) want(tensor);
  }
  return wanted;
}

// The makers of what a node reads, ascending, each once.
std::vector<int> makers_of(const model::Node& node, const std::vector<bool>& wanted, const std::vector<int>& maker) {
  std::vector<int> makers;
  for (int tensor : node.inputs) {
    const int n = tensor < 0 ? -1 : maker[static_cast<size_t>(tensor)];
    if (n >= 0 && wanted[static_cast<size_t>(n)]) makers.push_back(n);
  }
  std::sort(makers.begin(), makers.end());
  makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
  return makers;
}

// Wanted nodes whose results no node reads, ascending.
std::vector<int> leaves_of(const std::vector<std::vector<int>>& makers, const std::vector<bool>& wanted) {
  std::vector<bool> read(wanted.size());
  for (const std::vector<int>& of_node : makers)
    for (int n : of_node) read[static_cast<size_t>(n)] = true;
  std::vector<int> leaves;
  for (size_t n = 0; n < wanted.size(); ++n)
    if (wanted[n] && !read[n]) leaves.push_back(static_cast<int>(n));
  return leaves;
}

std::vector<int> execution_order(const model::Graph& graph, const std::vector<bool>& wanted,
                                 const std::vector<int>& maker) {
  std::vector<std::vector<int>> makers(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (wanted[n]) makers[n] = makers_of(graph.nodes[n], wanted, maker);
  std::vector<int> open = leaves_of(makers, wanted), order;
  enum class State : char { kNew, kEntered, kDone };
  std::vector<State> states(graph.nodes.size(), State::kNew);
  while (!open.empty()) {
    const int n = open.back();
    State& state = states[static_cast<size_t>(n)];
    if (state != State::kNew) {
      open.pop_back();
      if (state == State::kEntered) order.push_back(n);
      state = State::kDone;
      continue;
    }
    state = State::kEntered;  // it runs when it is met again: all that it needs lies above it until then
    for (int before : makers[static_cast<size_t>(n)])
      if (states[static_cast<size_t>(before)] == State::kNew) open.push_back(before);
  }
  return order;
}

std::vector<bool> weights_of(const model::Graph& graph) {
  std::vector<bool> constant;
  for (const model::TensorInfo& tensor : graph.tensors) constant.push_back(tensor.role == model::TensorRole::kWeight);
  return constant;
}

// Inputs with a named dimension, and everything that follows from them.
std::vector<bool> open_shapes(const model::Graph& graph) {
  std::vector<bool> open(graph.tensors.size());
  for (size_t i = 0; i < graph.inputs.size() && i < graph.input_specs.size(); ++i) {
    const std::vector<std::string>& symbols = graph.input_specs[i].symbols;
    open[static_cast<size_t>(graph.inputs[i])] =
        std::any_of(symbols.begin(), symbols.end(), [](const std::string& symbol) { return !symbol.empty(); });
  }
  for (const model::Node& node : graph.nodes) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](int t) { return t >= 0 && open[static_cast<size_t>(t)]; });
    for (int t : node.outputs)
      if (t >= 0) open[static_cast<size_t>(t)] = any;
  }
  return open;
}

}  // namespace

Rewriter::Rewriter(model::Graph graph)
    : graph_(std::move(graph)),
      constant_(weights_of(graph_)),
      open_(open_shapes(graph_)),
      alive_(graph_.nodes.size(), true),
      output_(graph_.tensors.size(), false),
      maker_(graph_.tensors.size(), -1),
      users_(graph_.tensors.size()) {
  for (int t : graph_.outputs)
    if (t >= 0) output_[static_cast<size_t>(t)] = true;
  for (int n = 0; n < node_count(); ++n) link(n);
}

void Rewriter::link(int n) {
  for (int t : node(n).inputs)
    if (t >= 0) users_[static_cast<size_t>(t)].push_back(n);
  for (int t : node(n).outputs)
    if (t >= 0) maker_[static_cast<size_t>(t)] = n;
}

void Rewriter::unlink(int n) {
  for (int t : node(n).inputs) {
    if (t < 0) continue;
    std::vector<int>& users = users_[static_cast<size_t>(t)];
    if (auto found = std::find(users.begin(), users.end(), n); found != users.end()) users.erase(found);
  }
  for (int t : node(n).outputs)
    if (t >= 0 && maker_[static_cast<size_t>(t)] == n) maker_[static_cast<size_t>(t)] = -1;
}

bool Rewriter::is(int n, std::string_view op, std::string_view domain) const {
  return n >= 0 && alive(n) && node(n).op == op && node(n).domain == domain;
}

bool Rewriter::is_output(int t) const { return t >= 0 && output_[static_cast<size_t>(t)]; }

int Rewriter::only_user(int t) const {
  if (t < 0 || is_output(t) || users(t).size() != 1) return -1;
  return users(t).front();
}

const Shape* Rewriter::shape(int t) const {
  if (t < 0 || !tensor(t).shape) return nullptr;
  const Shape& shape = *tensor(t).shape;
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; }) ? &shape : nullptr;
}

int64_t Rewriter::elements(int t) const {
  const Shape* known = shape(t);
  return known ? element_count(*known).value_or(0) : 0;
}

void Rewriter::remove(int n) {
  unlink(n);
  alive_[static_cast<size_t>(n)] = false;
}

void Rewriter::replace_uses(int from, int to) {
  if (from == to) return;
  for (int n : std::vector<int>(users(from))) {
    for (int& t : graph_.nodes[static_cast<size_t>(n)].inputs)
      if (t == from) t = to;
    users_[static_cast<size_t>(to)].push_back(n);
  }
  users_[static_cast<size_t>(from)].clear();
  if (!output_[static_cast<size_t>(from)]) return;
  output_[static_cast<size_t>(to)] = true;
  output_[static_cast<size_t>(from)] = false;
  std::replace(graph_.outputs.begin(), graph_.outputs.end(), from, to);
}

void Rewriter::set_input(int n, size_t i, int t) {
  std::vector<int> inputs = node(n).inputs;
  if (inputs.size() <= i) inputs.resize(i + 1, -1);
  inputs[i] = t;
  set_inputs(n, std::move(inputs));
}

void Rewriter::set_inputs(int n, std::vector<int> inputs) {
  unlink(n);
  edit(n).inputs = std::move(inputs);
  link(n);
}

void Rewriter::take_output(int n, int t) {
  unlink(n);
  edit(n).outputs.front() = t;
  link(n);
}

int Rewriter::add_tensor(model::TensorInfo info, bool constant) {
  graph_.tensors.push_back(std::move(info));
  constant_.push_back(constant);
  open_.push_back(false);
  output_.push_back(false);
  maker_.push_back(-1);
  users_.emplace_back();
  return static_cast<int>(graph_.tensors.size()) - 1;
}

void Rewriter::make_constant(int t, bool view) {
  constant_[static_cast<size_t>(t)] = true;
  if (!view) derived_.push_back({-1, t, DerivedWeight::Form::kComputed});
}

int Rewriter::derive(int from, model::TensorInfo info, DerivedWeight::Form form) {
  const int to = add_tensor(std::move(info), true);
  derived_.push_back({from, to, form});
  return to;
}

int Rewriter::add_node(model::Node node) {
  graph_.nodes.push_back(std::move(node));
  alive_.push_back(true);
  link(node_count() - 1);
  return node_count() - 1;
}

std::vector<int> Rewriter::order() const {
  return execution_order(graph_, wanted_nodes(graph_, alive_, maker_), maker_);
}

model::Graph Rewriter::finish() {
  for (size_t t = 0; t < graph_.tensors.size(); ++t)
    if (constant_[t]) graph_.tensors[t].role = model::TensorRole::kWeight;
  std::vector<model::Node> nodes;
  for (int n : order()) nodes.push_back(std::move(graph_.nodes[static_cast<size_t>(n)]));
  graph_.nodes = std::move(nodes);
  return std::move(graph_);
}

}  // namespace ridge::predict

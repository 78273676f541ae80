#include "engine/openvino/plugin/ir_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <openvino/core/attribute_visitor.hpp>
#include <openvino/core/model.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>

#include "base/mutex.h"
#include "engine/openvino/plugin/guarded.h"
#include "engine/openvino/plugin/model_file.h"
#include "engine/openvino/plugin/tensor_type.h"

namespace ridge::engine::openvino::plugin {
namespace {

constexpr size_t kSmallConstant = 64;  // elements; as model/graph.h publishes them

// An operator's attributes as the file spells them.
class Attributes final : public ov::AttributeVisitor {
 public:
  using ov::AttributeVisitor::on_adapter;
  void on_adapter(const std::string&, ov::ValueAccessor<void>&) override {}  // bodies and the like
  void on_adapter(const std::string&, ov::ValueAccessor<void*>&) override {}
  void on_adapter(const std::string&, ov::VisitorAdapter&) override {}
  void on_adapter(const std::string&, ov::ValueAccessor<std::shared_ptr<ov::Model>>&) override {}
  void on_adapter(const std::string& name, ov::ValueAccessor<std::string>& value) override { put(name, value.get()); }
  void on_adapter(const std::string& name, ov::ValueAccessor<bool>& value) override { put(name, value.get()); }
  void on_adapter(const std::string& name, ov::ValueAccessor<int64_t>& value) override { put(name, value.get()); }
  void on_adapter(const std::string& name, ov::ValueAccessor<uint64_t>& value) override { put(name, value.get()); }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::vector<int64_t>>& value) override {
    put(name, fmt::format("{}", fmt::join(value.get(), ",")));
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::vector<uint64_t>>& value) override {
    put(name, fmt::format("{}", fmt::join(value.get(), ",")));
  }
  std::map<std::string, std::string> take() { return std::move(values_); }

 private:
  void put(const std::string& name, const auto& value) { values_[name] = fmt::format("{}", value); }
  std::map<std::string, std::string> values_;
};

std::optional<Shape> shape_of(const ov::PartialShape& shape, model::DataSizes sizes) {
  if (shape.rank().is_dynamic()) return std::nullopt;
  Shape ours = to_shape(shape);
  for (size_t i = 0; sizes == model::DataSizes::kAtMost && i < ours.size(); ++i)
    if (shape[i].get_interval().has_upper_bound()) ours[i] = shape[i].get_max_length();
  return ours;
}

std::vector<int64_t> small_values(const ov::Node& node) {
  const auto* constant = ov::as_type<const ov::op::v0::Constant>(&node);
  if (constant == nullptr || !constant->get_element_type().is_integral() ||
      ov::shape_size(constant->get_shape()) > kSmallConstant || constant->get_element_type().bitwidth() < 8)
    return {};
  return constant->cast_vector<int64_t>();
}

class Description {
 public:
  Description(const ov::Model& model, model::DataSizes sizes) : model_(model), sizes_(sizes) {
    ir_.name = model.get_friendly_name();
    ir_.producer = "OpenVINO";
    if (model.has_rt_info("Runtime_version")) {
      const auto& version = model.get_rt_info<std::string>("Runtime_version");
      ir_.producer += " " + version.substr(0, version.find('-'));
    }
  }
  model::IrModel take() {
    // The model's inputs and outputs have an order of their own.
    for (const auto& input : model_.get_parameters()) add(*input);
    for (const std::shared_ptr<ov::Node>& node : model_.get_ordered_ops())
      if (!ov::is_type<ov::op::v0::Parameter>(node) && !ov::is_type<ov::op::v0::Result>(node)) add(*node);
    for (const auto& output : model_.get_results()) add(*output);
    return std::move(ir_);
  }

 private:
  void add(ov::Node& node) {
    model::IrOperator op;
    op.name = node.get_friendly_name();
    op.type = node.get_type_name();
    op.values = small_values(node);
    if (!ov::is_type<ov::op::v0::Constant>(&node)) {
      Attributes attributes;
      node.visit_attributes(attributes);
      op.attributes = attributes.take();
    }
    for (const ov::Input<ov::Node>& input : node.inputs()) {
      const ov::Output<ov::Node> from = input.get_source_output();
      op.inputs.push_back(tensors_.at({from.get_node(), from.get_index()}));
    }
    if (!ov::is_type<ov::op::v0::Result>(&node))
      for (const ov::Output<ov::Node>& output : node.outputs()) {
        tensors_[{&node, output.get_index()}] = static_cast<int>(ir_.tensors.size());
        op.outputs.push_back(static_cast<int>(ir_.tensors.size()));
        ir_.tensors.push_back({name_of(output.get_names(), op.name), output.get_element_type().get_type_name(),
                               shape_of(output.get_partial_shape(), sizes_)});
      }
    ir_.operators.push_back(std::move(op));
  }

  const ov::Model& model_;
  const model::DataSizes sizes_;
  model::IrModel ir_;
  std::map<std::pair<const ov::Node*, size_t>, int> tensors_;
};

class Source final : public model::IrSource {
 public:
  explicit Source(std::shared_ptr<ov::Model> model) : model_(std::move(model)) {}
  Result<model::IrModel> at(const std::map<std::string, Shape>& shapes, model::DataSizes sizes) const override {
    MutexLock lock(mutex_);
    const ov::Model& model = *model_;
    return guarded("OpenVINO could not describe it", [&]() -> Result<model::IrModel> {
      if (shapes.empty()) return Description(model, sizes).take();
      const std::shared_ptr<ov::Model> bound = model.clone();
      RIDGE_TRY(fix_shapes(*bound, shapes));
      return Description(*bound, sizes).take();
    });
  }

 private:
  mutable Mutex mutex_;
  const std::shared_ptr<ov::Model> model_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<const model::IrSource>> open_ir(const std::string& path) {
  RIDGE_ASSIGN(const ModelFile file, ModelFile::open(path));
  RIDGE_ASSIGN(std::shared_ptr<ov::Model> model, file.read());
  return std::shared_ptr<const model::IrSource>(std::make_shared<Source>(std::move(model)));
}

}  // namespace ridge::engine::openvino::plugin

#include "text/chat_template.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "text/template_parser.h"
#include "text/template_run.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

Error at_place(const TemplateError& error) {
  if (error.line == 0) return invalid("chat template: " + error.message);
  return invalid(fmt::format("chat template, line {}, column {}: {}", error.line, error.column, error.message));
}

}  // namespace

struct ChatTemplate::Node {
  TemplateNode::Child root;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Node> root) : root_(std::move(root)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view jinja) {
  if (!is_utf8(jinja)) return invalid("chat template: not valid UTF-8");
  try {
    auto root = std::make_unique<Node>();
    root->root = parse_template(jinja);
    return ChatTemplate(std::move(root));
  } catch (const TemplateError& error) {
    return at_place(error);
  }
}

Result<std::string> ChatTemplate::render(const Json& variables) const {
  if (!variables.is_object()) return invalid("chat template: the variables should be a JSON object");
  try {
    return run_template(*root_->root, variables);
  } catch (const TemplateError& error) {
    return at_place(error);
  }
}

}  // namespace ridge::text

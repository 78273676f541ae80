// Tokens → the tree of a template. Throws TemplateError.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template_value.h"

namespace ridge::text {

struct TemplateNode {
  enum class Kind {
    // Statements. Their children:
    kBody,      // statements
    kData,      // -; prints `value`
    kPrint,     // expression
    kFor,       // target, iterable, condition or nothing, body, else body or nothing
    kIf,        // condition, body, condition, body, …, and the body of else
    kSet,       // target, expression
    kSetBlock,  // target, body; `arguments` are its filters: kFilter without an input
    kMacro,     // body; `name`, `arguments` are parameters with a default or nothing
    kBreak,
    kContinue,
    // Expressions
    kConstant,   // `value`
    kName,       // `name`
    kList,       // items
    kTuple,      // items
    kDict,       // key, value, key, value, …
    kUnary,      // operand; `name` is the operator
    kBinary,     // left, right
    kAnd,        // left, right
    kOr,         // left, right
    kCompare,    // left, then operands; `arguments` name the operators
    kCondition,  // value, condition, otherwise or nothing
    kAttribute,  // object; `name`
    kItem,       // object, key
    kSlice,      // object, begin, end, step, each or nothing
    kCall,       // callee, arguments by place; `arguments` by name
    kFilter,     // input or nothing, arguments by place; `arguments` by name
    kTest,       // input, arguments by place; `negated`
  };
  using Child = std::unique_ptr<const TemplateNode>;

  Kind kind;
  int line = 1, column = 1;
  int depth = 1;
  std::string name;
  Value value;
  bool negated = false;
  std::vector<Child> children;
  std::vector<std::pair<std::string, Child>> arguments;
};

TemplateNode::Child parse_template(std::string_view source);

}  // namespace ridge::text

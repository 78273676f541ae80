#include "text/template_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "text/template_filters.h"
#include "text/template_format.h"
#include "text/template_items.h"
#include "text/template_methods.h"
#include "text/template_tests.h"

namespace ridge::text {

namespace {

constexpr size_t kMostText = size_t{64} << 20;  // [bytes]
constexpr int kDeepestCall = 500;               // nodes within nodes, through macros too
constexpr std::array<std::string_view, 4> kFunctions{"range", "dict", "raise_exception", "strftime_now"};

}  // namespace

struct Scope {
  Scope* outer = nullptr;
  bool kept = false;  // a macro that was made here, or within, may run later
  std::vector<std::pair<std::string, Value>> values;
};
struct Macro {
  const TemplateNode* node;
  Scope* scope;
};

namespace {

class Run {
  using Node = TemplateNode;
  using Kind = Node::Kind;

 public:
  std::string render(const Node& root, const Json& variables) {
    Scope& globals = new_scope(nullptr);
    globals.kept = true;
    for (std::string_view name : kFunctions) globals.values.emplace_back(name, Value{Function{name}});
    globals.values.emplace_back("namespace", Value{Function{"namespace"}});
    for (const auto& [name, value] : variables.items()) assign(globals, name, from_json(value));
    std::string out;
    out_ = &out;
    Scope& scope = new_scope(&globals);
    scope.kept = true;
    execute(root, scope);
    return out;
  }

 private:
  enum class Flow { kOn, kBreak, kContinue };

  // ---- scopes

  Scope& new_scope(Scope* outer) {
    scopes_.push_back(std::make_unique<Scope>());
    scopes_.back()->outer = outer;
    return *scopes_.back();
  }
  // Scopes end in the order opposite to that in which they begin, but for those that macros keep.
  void end_scope(Scope& scope) {
    if (scope.kept)
      scope.outer->kept = true;
    else if (scopes_.back().get() == &scope)
      scopes_.pop_back();
    else
      scope.values.clear();
  }
  static void assign(Scope& scope, const std::string& name, Value value) {
    for (auto& [known, old] : scope.values)
      if (known == name) {
        old = std::move(value);
        return;
      }
    scope.values.emplace_back(name, std::move(value));
  }
  static Value look_up(const Scope* scope, const std::string& name) {
    for (; scope; scope = scope->outer)
      for (const auto& [known, value] : scope->values)
        if (known == name) return value;
    return undefined_value(name);
  }

  void assign_target(const Node& target, Value value, Scope& scope) {
    if (target.kind == Kind::kName) {
      assign(scope, target.name, std::move(value));
    } else if (target.kind == Kind::kAttribute) {
      const Value object = look_up(&scope, target.children[0]->name);
      if (!object.is<Namespace*>())
        throw TemplateError{"cannot assign attribute on non-namespace object", target.line, target.column};
      auto& values = std::get<Namespace*>(object.data)->values;
      const auto found =
          std::find_if(values.begin(), values.end(), [&](const auto& member) { return member.first == target.name; });
      if (found == values.end())
        values.emplace_back(target.name, std::move(value));
      else
        found->second = std::move(value);
    } else {
      const std::vector<Value> values = iterate(value, budget_);
      if (values.size() != target.children.size())
        throw TemplateError{
            fmt::format("{} values cannot be assigned to {} names", values.size(), target.children.size()), target.line,
            target.column};
      for (size_t i = 0; i < values.size(); ++i) assign_target(*target.children[i], values[i], scope);
    }
  }

  // ---- statements

  void print(std::string_view text) {
    budget_.charge(text.size());
    if (out_->size() + text.size() > kMostText) throw TemplateError{"the text is larger than 64 MiB"};
    *out_ += text;
  }

  class Level {
   public:
    explicit Level(Run& run) : run_(run) {
      if (++run_.level_ > kDeepestCall) throw TemplateError{"calls or operators are nested too deeply"};
    }
    ~Level() { --run_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Run& run_;
  };

  Flow execute(const Node& node, Scope& scope) {
    const Level level(*this);
    budget_.charge();
    try {
      return execute_kind(node, scope);
    } catch (TemplateError& error) {
      if (error.line == 0) {
        error.line = node.line;
        error.column = node.column;
      }
      throw;
    }
  }

  Flow execute_kind(const Node& node, Scope& scope) {
    switch (node.kind) {
      case Kind::kBody:
        for (const auto& statement : node.children)
          if (const Flow flow = execute(*statement, scope); flow != Flow::kOn) return flow;
        return Flow::kOn;
      case Kind::kData: print(*node.value.text()); return Flow::kOn;
      case Kind::kPrint: print(to_text(evaluate(*node.children[0], scope), budget_)); return Flow::kOn;
      case Kind::kFor: return execute_for(node, scope);
      case Kind::kIf: return execute_if(node, scope);
      case Kind::kSet: assign_target(*node.children[0], evaluate(*node.children[1], scope), scope); return Flow::kOn;
      case Kind::kSetBlock: execute_set_block(node, scope); return Flow::kOn;
      case Kind::kMacro:
        macros_.push_back({&node, &scope});
        scope.kept = true;
        assign(scope, node.name, {static_cast<const Macro*>(&macros_.back())});
        return Flow::kOn;
      case Kind::kBreak: return Flow::kBreak;
      default: return Flow::kContinue;
    }
  }

  Flow execute_if(const Node& node, Scope& scope) {
    const size_t pairs = node.children.size() / 2;
    for (size_t i = 0; i < pairs; ++i)
      if (truth(evaluate(*node.children[2 * i], scope))) return execute(*node.children[2 * i + 1], scope);
    return node.children.size() % 2 == 1 ? execute(*node.children.back(), scope) : Flow::kOn;
  }

  Flow execute_for(const Node& node, Scope& scope) {
    const Node& target = *node.children[0];
    std::vector<Value> values = iterate(evaluate(*node.children[1], scope), budget_);
    if (node.children[2]) {
      std::vector<Value> kept;
      for (Value& value : values) {
        Scope& inner = new_scope(&scope);
        assign_target(target, value, inner);
        const bool wanted = truth(evaluate(*node.children[2], inner));
        end_scope(inner);
        if (wanted) kept.push_back(std::move(value));
      }
      values = std::move(kept);
    }
    if (values.empty()) return node.children[4] ? execute(*node.children[4], scope) : Flow::kOn;
    loops_.push_back(std::make_unique<Loop>());
    Loop& loop = *loops_.back();
    loop.values = std::move(values);
    for (; loop.index < loop.values.size(); ++loop.index) {
      Scope& inner = new_scope(&scope);
      assign_target(target, loop.values[loop.index], inner);
      assign(inner, "loop", {static_cast<const Loop*>(&loop)});
      const Flow flow = execute(*node.children[3], inner);
      end_scope(inner);
      if (flow == Flow::kBreak) break;
    }
    loop.index = std::min(loop.index, loop.values.size() - 1);
    return Flow::kOn;
  }

  // Returns a body's output as a value.
  std::string captured(const Node& body, Scope& scope) {
    std::string text;
    std::string* outer = std::exchange(out_, &text);
    try {
      execute(body, scope);
    } catch (...) {
      out_ = outer;
      throw;
    }
    out_ = outer;
    return text;
  }

  void execute_set_block(const Node& node, Scope& scope) {
    Scope& inner = new_scope(&scope);
    Value value = text_value(captured(*node.children[1], inner));
    for (const auto& [name, filter] : node.arguments)
      value = apply_filter(filter->name, value, arguments(*filter, 1, inner), budget_);
    end_scope(inner);
    assign_target(*node.children[0], std::move(value), scope);
  }

  // ---- expressions

  Value evaluate(const Node& node, Scope& scope) {
    const Level level(*this);
    budget_.charge();
    try {
      return evaluate_kind(node, scope);
    } catch (TemplateError& error) {
      if (error.line == 0) {
        error.line = node.line;
        error.column = node.column;
      }
      throw;
    }
  }
  Value operand(const Node& node, size_t i, Scope& scope) { return evaluate(*node.children[i], scope); }

  Value evaluate_kind(const Node& node, Scope& scope) {
    switch (node.kind) {
      case Kind::kConstant: return node.value;
      case Kind::kName: return look_up(&scope, node.name);
      case Kind::kList:
      case Kind::kTuple: return list_value(operands(node, 0, scope), node.kind == Kind::kTuple);
      case Kind::kDict: return dict(node, scope);
      case Kind::kUnary: return unary(node, scope);
      case Kind::kBinary: return binary(node, scope);
      case Kind::kAnd: {
        Value left = operand(node, 0, scope);
        return truth(left) ? operand(node, 1, scope) : left;
      }
      case Kind::kOr: {
        Value left = operand(node, 0, scope);
        return truth(left) ? left : operand(node, 1, scope);
      }
      case Kind::kCompare: return compare_all(node, scope);
      case Kind::kCondition:
        if (truth(operand(node, 1, scope))) return operand(node, 0, scope);
        return node.children[2] ? operand(node, 2, scope) : undefined_value("the value of an 'if' without 'else'");
      case Kind::kAttribute: return get_attribute(operand(node, 0, scope), node.name);
      case Kind::kItem: {
        const Value object = operand(node, 0, scope);
        return get_item(object, operand(node, 1, scope), budget_);
      }
      case Kind::kSlice: return slice(node, scope);
      case Kind::kCall: return call(node, scope);
      case Kind::kFilter: {
        const Value input = operand(node, 0, scope);
        return apply_filter(node.name, input, arguments(node, 1, scope), budget_);
      }
      case Kind::kTest: return test(node, scope);
      default: return undefined_value("");
    }
  }

  std::vector<Value> operands(const Node& node, size_t from, Scope& scope) {
    std::vector<Value> values;
    for (size_t i = from; i < node.children.size(); ++i) values.push_back(operand(node, i, scope));
    return values;
  }
  Arguments arguments(const Node& node, size_t from, Scope& scope) {
    Arguments given{operands(node, from, scope), {}};
    for (const auto& [name, value] : node.arguments) given.names.emplace_back(name, evaluate(*value, scope));
    return given;
  }

  Value dict(const Node& node, Scope& scope) {
    std::vector<std::pair<Value, Value>> values;
    for (size_t i = 0; i < node.children.size(); i += 2) {
      Value key = operand(node, i, scope);
      set_member(values, std::move(key), operand(node, i + 1, scope), budget_);
    }
    return dict_value(std::move(values));
  }

  Value slice(const Node& node, Scope& scope) {
    const auto part = [&](size_t i) { return node.children[i] ? operand(node, i, scope) : Value{None{}}; };
    const Value object = part(0), begin = part(1), end = part(2), step = part(3);
    return get_slice(object, begin, end, step, budget_);
  }

  Value test(const Node& node, Scope& scope) {
    const Value input = operand(node, 0, scope);
    if (!node.arguments.empty()) throw TemplateError{"a test takes no arguments by name"};
    return {apply_test(node.name, input, operands(node, 1, scope), budget_) != node.negated};
  }

  Value compare_all(const Node& node, Scope& scope) {
    Value left = operand(node, 0, scope);
    for (size_t i = 1; i < node.children.size(); ++i) {
      Value right = operand(node, i, scope);
      const std::string& name = node.arguments[i - 1].first;
      const bool holds = name == "=="       ? equal(left, right, budget_)
                         : name == "!="     ? !equal(left, right, budget_)
                         : name == "in"     ? contains(right, left, budget_)
                         : name == "not in" ? !contains(right, left, budget_)
                                            : ordered(name, left, right);
      if (!holds) return {false};
      left = std::move(right);
    }
    return {true};
  }
  bool ordered(std::string_view name, const Value& left, const Value& right) {
    const int order = compare(left, right, budget_);
    return name == "<" ? order < 0 : name == "<=" ? order <= 0 : name == ">" ? order > 0 : order >= 0;
  }

  Value unary(const Node& node, Scope& scope) {
    const Value value = operand(node, 0, scope);
    if (node.name == "not") return {!truth(value)};
    if (!is_number(value))
      throw TemplateError{fmt::format("bad operand for unary {}: '{}'", node.name, type_name(value))};
    if (value.is<double>()) return {node.name == "-" ? -number(value) : number(value)};
    const int64_t whole = integer(value);
    if (whole == INT64_MIN) throw TemplateError{"the number is too large"};
    return {node.name == "-" ? -whole : whole};
  }

  static int64_t integer(const Value& value) {
    return value.is<bool>() ? std::get<bool>(value.data) : std::get<int64_t>(value.data);
  }

  Value binary(const Node& node, Scope& scope) {
    const Value left = operand(node, 0, scope), right = operand(node, 1, scope);
    const std::string& name = node.name;
    if (name == "~") return text_value(to_text(left, budget_) + to_text(right, budget_));
    if (name == "+" && left.text() && right.text()) {
      budget_.charge(left.text()->size() + right.text()->size());
      const bool safe = left.safe || right.safe;
      const auto part = [&](const Value& value) {
        return safe && !value.safe ? escaped(*value.text()) : *value.text();
      };
      return text_value(part(left) + part(right), safe);
    }
    if (name == "%" && left.text()) return text_value(percent_formatted(left, right, budget_), left.safe);
    if (name == "+" && left.items() && right.items() && left.items()->tuple == right.items()->tuple) {
      std::vector<Value> values = iterate(left, budget_);
      for (Value& value : iterate(right, budget_)) values.push_back(std::move(value));
      return list_value(std::move(values), left.items()->tuple);
    }
    if (name == "*") {
      const bool repeats_left = (left.text() || left.items()) && (right.is<int64_t>() || right.is<bool>());
      const bool repeats_right = (right.text() || right.items()) && (left.is<int64_t>() || left.is<bool>());
      if (repeats_left) return repeated(left, integer(right));
      if (repeats_right) return repeated(right, integer(left));
    }
    if (left.undefined() || right.undefined())
      throw TemplateError{
          fmt::format("'{}' is undefined", std::get<Undefined>((left.undefined() ? left : right).data).name)};
    if (!is_number(left) || !is_number(right))
      throw TemplateError{
          fmt::format("unsupported operands for {}: '{}' and '{}'", name, type_name(left), type_name(right))};
    return arithmetic(name, left, right);
  }

  Value repeated(const Value& value, int64_t count) {
    const auto times = static_cast<size_t>(std::clamp<int64_t>(count, 0, int64_t{1} << 31));
    if (const std::string* text = value.text()) {
      budget_.charge(text->size() * times);
      std::string out;
      for (size_t i = 0; i < times && !text->empty(); ++i) out += *text;
      return text_value(std::move(out), value.safe);
    }
    const Items& items = *value.items();
    budget_.charge(items.values.size() * times * sizeof(Value));
    std::vector<Value> values;
    for (size_t i = 0; i < times && !items.values.empty(); ++i)
      values.insert(values.end(), items.values.begin(), items.values.end());
    return list_value(std::move(values), items.tuple);
  }

  static Value arithmetic(const std::string& name, const Value& left, const Value& right) {
    const double a = number(left), b = number(right);
    if ((name == "/" || name == "//" || name == "%") && b == 0) throw TemplateError{"division by zero"};
    if (name == "/") return {a / b};
    if (!left.is<double>() && !right.is<double>()) {
      if (const auto whole = whole_arithmetic(name, integer(left), integer(right))) return {*whole};
    }
    if (name == "+") return {a + b};
    if (name == "-") return {a - b};
    if (name == "*") return {a * b};
    if (name == "**") return {std::pow(a, b)};
    if (name == "//") return {std::floor(a / b)};
    const double rest = std::fmod(a, b);
    return {rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest};
  }

  // Empty for a negative power, whose result is not a whole number.
  static std::optional<int64_t> whole_arithmetic(const std::string& name, int64_t a, int64_t b) {
    int64_t result = 0;
    bool too_large = false;
    if (name == "+") too_large = __builtin_add_overflow(a, b, &result);
    if (name == "-") too_large = __builtin_sub_overflow(a, b, &result);
    if (name == "*") too_large = __builtin_mul_overflow(a, b, &result);
    if (name == "**") {
      if (b < 0) return std::nullopt;
      result = 1;
      if (a == 0 || a == 1 || a == -1) b = a == 0 && b > 0 ? 1 : b % 2 + 2 * (b > 0);
      for (; b > 0 && !too_large; --b) too_large = __builtin_mul_overflow(result, a, &result);
    }
    if (name == "//" || name == "%") {
      if (b == -1 && a == INT64_MIN) throw TemplateError{"the number is too large"};
      const int64_t rest = a % b, down = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
      result = name == "//" ? a / b - down : rest + down * b;
    }
    if (too_large) throw TemplateError{"the number is too large"};
    return result;
  }

  Value call(const Node& node, Scope& scope) {
    const Value callee = operand(node, 0, scope);
    const Arguments given = arguments(node, 1, scope);
    if (callee.is<std::shared_ptr<const Method>>())
      return call_method(*std::get<std::shared_ptr<const Method>>(callee.data), given, budget_);
    if (callee.is<const Macro*>()) return call_macro(*std::get<const Macro*>(callee.data), given);
    if (callee.undefined())
      throw TemplateError{fmt::format("'{}' is undefined", std::get<Undefined>(callee.data).name)};
    if (!callee.is<Function>()) throw TemplateError{fmt::format("'{}' object is not callable", type_name(callee))};
    const std::string_view name = std::get<Function>(callee.data).name;
    if (name != "namespace") return call_function(name, given, budget_);
    const Value members = call_function("dict", given, budget_);
    Namespace& made = namespaces_.emplace_back();
    for (const auto& [key, value] : members.members()->values)
      if (key.text()) made.values.emplace_back(*key.text(), value);
    return {&made};
  }

  Value call_macro(const Macro& macro, const Arguments& given) {
    const auto& parameters = macro.node->arguments;
    if (given.places.size() > parameters.size())
      throw TemplateError{
          fmt::format("macro '{}' takes not more than {} argument(s)", macro.node->name, parameters.size())};
    for (const auto& [name, value] : given.names)
      if (std::none_of(parameters.begin(), parameters.end(),
                       [&, &name = name](const auto& parameter) { return parameter.first == name; }))
        throw TemplateError{fmt::format("macro '{}' takes no keyword argument '{}'", macro.node->name, name)};
    Scope& scope = new_scope(macro.scope);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const auto& [name, otherwise] = parameters[i];
      const auto named = std::find_if(given.names.begin(), given.names.end(),
                                      [&, &name = name](const auto& argument) { return argument.first == name; });
      Value value = undefined_value(name);
      if (i < given.places.size())
        value = given.places[i];
      else if (named != given.names.end())
        value = named->second;
      else if (otherwise)
        value = evaluate(*otherwise, scope);
      assign(scope, name, std::move(value));
    }
    std::string text = captured(*macro.node->children[0], scope);
    end_scope(scope);
    return text_value(std::move(text));
  }

  Budget budget_;
  std::string* out_ = nullptr;
  int level_ = 0;
  // Scopes that values point to; all live until the end.
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::deque<Macro> macros_;
  std::deque<Namespace> namespaces_;
};

}  // namespace

std::string run_template(const TemplateNode& root, const Json& variables) { return Run().render(root, variables); }

}  // namespace ridge::text

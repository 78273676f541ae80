#include "text/template_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "text/template_lexer.h"
#include "text/template_tests.h"

namespace ridge::text {
namespace {

constexpr int kDeepestNode = 150;

// Jinja2's blocks that are not here.
constexpr std::array<std::string_view, 12> kOtherBlocks{"include", "import", "from",       "extends", "block", "call",
                                                        "filter",  "with",   "autoescape", "do",      "trans", "debug"};

// Operators by strength, from the weakest; those of a level are grouped from the left.
constexpr std::array<std::array<std::string_view, 4>, 4> kLevels{{{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}}};

class Parser {
  using Node = TemplateNode;
  using Child = Node::Child;
  using Kind = Node::Kind;
  using TokenKind = TemplateToken::Kind;

 public:
  explicit Parser(std::string_view source) : tokens_(lex_template(source)) {}

  Child run() {
    Child body = statements({});
    if (now().kind != TokenKind::kEnd) fail(fmt::format("unexpected block '{}'", tokens_[at_ + 1].text));
    return body;
  }

 private:
  const TemplateToken& now() const { return tokens_[at_]; }
  const TemplateToken& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is(TokenKind kind, std::string_view text) const { return now().kind == kind && now().text == text; }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator, text); }
  bool is_name(std::string_view text) const { return is(TokenKind::kName, text); }
  bool take_operator(std::string_view text) { return is_operator(text) && (++at_, true); }
  bool take_name(std::string_view text) { return is_name(text) && (++at_, true); }
  [[noreturn]] void fail(std::string message) const {
    throw TemplateError{std::move(message), now().line, now().column};
  }
  std::string shown() const {
    if (now().kind == TokenKind::kEnd) return "the end of the template";
    if (now().kind == TokenKind::kBlockEnd) return "the end of the block";
    if (now().kind == TokenKind::kVariableEnd) return "the end of the expression";
    return fmt::format("'{}'", now().text);
  }
  void expect_operator(std::string_view text) {
    if (!take_operator(text)) fail(fmt::format("expected '{}', found {}", text, shown()));
  }
  void expect(TokenKind kind, std::string_view what) {
    if (now().kind != kind) fail(fmt::format("expected {}, found {}", what, shown()));
    ++at_;
  }
  std::string expect_name() {
    if (now().kind != TokenKind::kName) fail(fmt::format("expected a name, found {}", shown()));
    return tokens_[at_++].text;
  }

  // Limits how deep the parser calls itself.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.level_ > kDeepestNode) parser_.fail("nested too deeply");
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  std::unique_ptr<Node> make(Kind kind, std::string name = {}) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->line = now().line;
    node->column = now().column;
    node->name = std::move(name);
    return node;
  }
  void add(Node& node, Child child) const {
    if (child) deepen(node, *child);
    node.children.push_back(std::move(child));
  }
  void add(Node& node, std::string name, Child child) const {
    if (child) deepen(node, *child);
    node.arguments.emplace_back(std::move(name), std::move(child));
  }
  void deepen(Node& node, const Node& child) const {
    node.depth = std::max(node.depth, child.depth + 1);
    if (node.depth > 2 * kDeepestNode) fail("nested too deeply: too many operators or blocks in a row");
  }

  // ---- statements

  // Up to a block of one of these names, whose begin is not taken.
  Child statements(std::initializer_list<std::string_view> ends) {
    const Level level(*this);
    auto body = make(Kind::kBody);
    for (;;) {
      if (now().kind == TokenKind::kData) {
        auto data = make(Kind::kData);
        data->value = text_value(now().text);
        ++at_;
        add(*body, std::move(data));
      } else if (now().kind == TokenKind::kVariableBegin) {
        ++at_;
        auto print = make(Kind::kPrint);
        add(*print, tuple_or_expression());
        expect(TokenKind::kVariableEnd, "'}}'");
        add(*body, std::move(print));
      } else if (now().kind == TokenKind::kBlockBegin) {
        const std::string& name = ahead().text;
        if (ahead().kind == TokenKind::kName && std::find(ends.begin(), ends.end(), name) != ends.end()) return body;
        if (name.starts_with("end") || name == "else" || name == "elif") return body;  // of an outer block, or too many
        ++at_;
        if (Child statement = block()) add(*body, std::move(statement));
      } else {
        return body;
      }
    }
  }

  void end_block(std::string_view name) {
    if (now().kind != TokenKind::kBlockBegin || ahead().text != name)
      fail(fmt::format("expected '{{% {} %}}', found {}", name,
                       now().kind == TokenKind::kBlockBegin ? fmt::format("'{{% {} %}}'", ahead().text) : shown()));
    at_ += 2;
    block_end();
  }
  void block_end() { expect(TokenKind::kBlockEnd, "'%}'"); }

  // Behind "{%".
  Child block() {
    if (now().kind != TokenKind::kName) fail(fmt::format("expected the name of a block, found {}", shown()));
    if (is_name("for")) return for_block();
    if (is_name("if")) return if_block();
    if (is_name("set")) return set_block();
    if (is_name("macro")) return macro_block();
    if (is_name("generation")) {  // of transformers: marks what the assistant said
      ++at_;
      block_end();
      Child body = statements({"endgeneration"});
      end_block("endgeneration");
      return body;
    }
    if (is_name("break") || is_name("continue")) {
      auto node = make(is_name("break") ? Kind::kBreak : Kind::kContinue);
      if (loops_ == 0) fail(fmt::format("'{}' outside of a loop", now().text));
      ++at_;
      block_end();
      return node;
    }
    if (std::find(kOtherBlocks.begin(), kOtherBlocks.end(), now().text) != kOtherBlocks.end())
      fail(fmt::format("the block '{}' is not supported", now().text));
    fail(fmt::format("unknown block '{}'", now().text));
  }

  Child for_block() {
    auto node = make(Kind::kFor);
    ++at_;
    add(*node, target());
    if (!take_name("in")) fail(fmt::format("expected 'in', found {}", shown()));
    add(*node, tuple_or_expression(false));
    add(*node, take_name("if") ? expression() : nullptr);
    if (is_name("recursive")) fail("'recursive' is not supported");
    block_end();
    ++loops_;
    add(*node, statements({"else", "endfor"}));
    --loops_;
    Child otherwise;
    if (ahead().text == "else") {
      at_ += 2;
      block_end();
      otherwise = statements({"endfor"});
    }
    add(*node, std::move(otherwise));
    end_block("endfor");
    return node;
  }

  Child if_block() {
    auto node = make(Kind::kIf);
    do {
      ++at_;
      add(*node, tuple_or_expression());
      block_end();
      add(*node, statements({"elif", "else", "endif"}));
    } while (now().kind == TokenKind::kBlockBegin && ahead().text == "elif" && (++at_, true));
    if (now().kind == TokenKind::kBlockBegin && ahead().text == "else") {
      at_ += 2;
      block_end();
      add(*node, statements({"endif"}));
    }
    end_block("endif");
    return node;
  }

  Child set_block() {
    auto node = make(Kind::kSet);
    ++at_;
    add(*node, target());
    if (take_operator("=")) {
      add(*node, tuple_or_expression());
      block_end();
      return node;
    }
    node->kind = Kind::kSetBlock;
    while (take_operator("|")) {
      Child one = filter(nullptr);
      add(*node, "", std::move(one));
    }
    block_end();
    add(*node, statements({"endset"}));
    end_block("endset");
    return node;
  }

  Child macro_block() {
    auto node = make(Kind::kMacro);
    ++at_;
    node->name = expect_name();
    expect_operator("(");
    while (!take_operator(")")) {
      if (!node->arguments.empty()) expect_operator(",");
      std::string name = expect_name();
      Child otherwise;
      if (take_operator("="))
        otherwise = expression();
      else if (!node->arguments.empty() && node->arguments.back().second)
        fail("a parameter without a default follows one with it");
      add(*node, std::move(name), std::move(otherwise));
    }
    block_end();
    const int loops = std::exchange(loops_, 0);
    add(*node, statements({"endmacro"}));
    loops_ = loops;
    end_block("endmacro");
    return node;
  }

  // Target of an assignment: a name, several, or an attribute of a namespace.
  Child target() {
    std::vector<Child> names;
    const bool brackets = take_operator("(");
    bool several = brackets;
    auto tuple = make(Kind::kTuple);
    do {
      if (!names.empty() && (now().kind != TokenKind::kName || is_name("in"))) break;
      auto name = make(Kind::kName, expect_name());
      for (std::string_view reserved : {"true", "false", "none", "True", "False", "None"})
        if (name->name == reserved) fail(fmt::format("cannot assign to '{}'", reserved));
      if (take_operator(".")) {
        auto attribute = make(Kind::kAttribute, expect_name());
        add(*attribute, std::move(name));
        names.push_back(std::move(attribute));
      } else {
        names.push_back(std::move(name));
      }
      if (!take_operator(",")) break;
      several = true;
    } while (true);
    if (brackets) expect_operator(")");
    if (!several) return std::move(names[0]);
    for (Child& name : names) add(*tuple, std::move(name));
    return tuple;
  }

  // ---- expressions, from the weakest operator to the strongest

  Child tuple_or_expression(bool with_condition = true) {
    const auto one = [&] { return with_condition ? expression() : either(); };
    auto tuple = make(Kind::kTuple);
    Child first = one();
    if (!is_operator(",")) return first;
    add(*tuple, std::move(first));
    while (take_operator(",")) {
      if (now().kind == TokenKind::kBlockEnd || now().kind == TokenKind::kVariableEnd || is_operator(")")) break;
      add(*tuple, one());
    }
    return tuple;
  }

  Child expression() {
    const Level level(*this);
    Child value = either();
    while (is_name("if")) {
      auto node = make(Kind::kCondition);
      ++at_;
      add(*node, std::move(value));
      add(*node, either());
      add(*node, take_name("else") ? expression() : nullptr);
      value = std::move(node);
    }
    return value;
  }

  Child binary(Kind kind, std::string name, Child left, Child right) const {
    auto node = make(kind, std::move(name));
    add(*node, std::move(left));
    add(*node, std::move(right));
    return node;
  }
  Child either() {
    Child left = both();
    while (take_name("or")) left = binary(Kind::kOr, "or", std::move(left), both());
    return left;
  }
  Child both() {
    Child left = negation();
    while (take_name("and")) left = binary(Kind::kAnd, "and", std::move(left), negation());
    return left;
  }
  Child negation() {
    if (!is_name("not")) return comparison();
    const Level level(*this);
    auto node = make(Kind::kUnary, "not");
    ++at_;
    add(*node, negation());
    return node;
  }
  Child comparison() {
    Child left = arithmetic();
    std::unique_ptr<Node> node;
    for (;;) {
      std::string name;
      for (std::string_view known : {"==", "!=", "<", ">", "<=", ">="})
        if (is_operator(known)) name = known;
      if (is_name("in")) name = "in";
      if (is_name("not") && ahead().kind == TokenKind::kName && ahead().text == "in") {
        name = "not in";
        ++at_;
      }
      if (name.empty()) break;
      if (!node) {
        node = make(Kind::kCompare);
        add(*node, std::move(left));
      }
      ++at_;
      add(*node, arithmetic());
      node->arguments.emplace_back(name, nullptr);
    }
    return node ? Child(std::move(node)) : std::move(left);
  }
  // The operators of kLevels[level] and those that are stronger.
  Child arithmetic(size_t level = 0) {
    if (level == kLevels.size()) return unary(true);
    Child left = arithmetic(level + 1);
    for (;;) {
      const auto* found =
          std::find_if(kLevels[level].begin(), kLevels[level].end(), [&](auto text) { return is_operator(text); });
      if (found == kLevels[level].end()) return left;
      ++at_;
      Child right = arithmetic(level + 1);
      left = binary(Kind::kBinary, std::string(*found), std::move(left), std::move(right));
    }
  }

  Child unary(bool with_filter) {
    const Level level(*this);
    Child value;
    if (is_operator("-") || is_operator("+")) {
      auto node = make(Kind::kUnary, now().text);
      ++at_;
      add(*node, unary(false));
      value = std::move(node);
    } else {
      value = primary();
    }
    value = postfix(std::move(value));
    return with_filter ? filters(std::move(value)) : std::move(value);
  }

  // Items with commas between them, up to `end`; a comma may stand before that, too.
  template <typename Item>
  void items_until(std::string_view end, Item item) {
    for (bool first = true; !take_operator(end); first = false) {
      if (!first) {
        expect_operator(",");
        if (take_operator(end)) return;
      }
      item();
    }
  }

  Child constant(Value value) {
    auto node = make(Kind::kConstant);
    node->value = std::move(value);
    ++at_;
    return node;
  }

  Child primary() {
    const TemplateToken& token = now();
    switch (token.kind) {
      case TokenKind::kName: {
        if (token.text == "true" || token.text == "True") return constant({true});
        if (token.text == "false" || token.text == "False") return constant({false});
        if (token.text == "none" || token.text == "None") return constant({None{}});
        auto node = make(Kind::kName, token.text);
        ++at_;
        return node;
      }
      case TokenKind::kText: {
        std::string text;
        while (now().kind == TokenKind::kText) text += tokens_[at_++].text;
        --at_;
        return constant(text_value(std::move(text)));
      }
      case TokenKind::kInteger: {
        int64_t number = 0;
        const char* end = token.text.data() + token.text.size();
        if (std::from_chars(token.text.data(), end, number).ec != std::errc()) fail("the number is too large");
        return constant({number});
      }
      case TokenKind::kFloat: {
        double number = 0;
        const char* end = token.text.data() + token.text.size();
        if (std::from_chars(token.text.data(), end, number).ec != std::errc())
          fail("the number is too large or too small");
        return constant({number});
      }
      default: break;
    }
    if (take_operator("(")) {
      if (is_operator(")")) {
        auto empty = make(Kind::kTuple);
        ++at_;
        return empty;
      }
      Child inside = tuple_or_expression();
      expect_operator(")");
      return inside;
    }
    if (is_operator("[")) {
      auto node = make(Kind::kList);
      ++at_;
      items_until("]", [&] { add(*node, expression()); });
      return node;
    }
    if (is_operator("{")) {
      auto node = make(Kind::kDict);
      ++at_;
      items_until("}", [&] {
        add(*node, expression());
        expect_operator(":");
        add(*node, expression());
      });
      return node;
    }
    fail(fmt::format("expected an expression, found {}", shown()));
  }

  Child postfix(Child value) {
    for (;;) {
      if (is_operator(".")) {
        auto node = make(Kind::kAttribute);
        ++at_;
        if (now().kind == TokenKind::kInteger) {
          node->kind = Kind::kItem;
          add(*node, std::move(value));
          add(*node, primary());
        } else {
          node->name = expect_name();
          add(*node, std::move(value));
        }
        value = std::move(node);
      } else if (is_operator("[")) {
        value = subscript(std::move(value));
      } else if (is_operator("(")) {
        value = call(std::move(value));
      } else {
        return value;
      }
    }
  }

  Child subscript(Child object) {
    auto node = make(Kind::kItem);
    ++at_;
    add(*node, std::move(object));
    const auto part = [&]() -> Child { return is_operator(":") || is_operator("]") ? nullptr : expression(); };
    Child first = part();
    if (is_operator(":")) {
      node->kind = Kind::kSlice;
      add(*node, std::move(first));
      for (int i = 0; i < 2; ++i) add(*node, take_operator(":") ? part() : nullptr);
    } else if (first) {
      add(*node, std::move(first));
    } else {
      fail("expected a subscript, found ']'");
    }
    expect_operator("]");
    return node;
  }

  // (…) of a call, a filter or a test.
  void arguments(Node& node) {
    expect_operator("(");
    items_until(")", [&] {
      if (is_operator("*") || is_operator("**")) fail("'*' before an argument is not supported");
      if (now().kind == TokenKind::kName && ahead().kind == TokenKind::kOperator && ahead().text == "=") {
        std::string name = expect_name();
        ++at_;
        add(node, std::move(name), expression());
      } else {
        if (!node.arguments.empty()) fail("an argument by place follows one by name");
        add(node, expression());
      }
    });
  }
  Child call(Child callee) {
    auto node = make(Kind::kCall);
    add(*node, std::move(callee));
    arguments(*node);
    return node;
  }

  // Behind "|".
  Child filter(Child input) {
    auto node = make(Kind::kFilter);
    node->name = expect_name();
    add(*node, std::move(input));
    if (is_operator("(")) arguments(*node);
    return node;
  }

  Child filters(Child value) {
    for (;;) {
      if (take_operator("|")) {
        value = filter(std::move(value));
      } else if (take_name("is")) {
        value = test(std::move(value));
      } else if (is_operator("(")) {
        value = call(std::move(value));
      } else {
        return value;
      }
    }
  }

  Child test(Child value) {
    auto node = make(Kind::kTest);
    node->negated = take_name("not");
    node->name = expect_name();
    add(*node, std::move(value));
    const bool operand = now().kind == TokenKind::kText || now().kind == TokenKind::kInteger ||
                         now().kind == TokenKind::kFloat || is_operator("[") || is_operator("{") ||
                         (now().kind == TokenKind::kName && !is_name("else") && !is_name("or") && !is_name("and"));
    if (is_operator("(")) {
      arguments(*node);
    } else if (operand) {
      if (is_name("is")) fail("tests cannot be chained with 'is'");
      // Jinja2 reads "x is defined if …" as a test of "if"; no test without an operand takes one here.
      if (takes_operand(node->name)) {
        Child argument = primary();
        add(*node, postfix(std::move(argument)));
      }
    }
    return node;
  }

  std::vector<TemplateToken> tokens_;
  size_t at_ = 0;
  int level_ = 0, loops_ = 0;
};

}  // namespace

TemplateNode::Child parse_template(std::string_view source) { return Parser(source).run(); }

}  // namespace ridge::text

// Parsing with what nlohmann's own parser lets pass refused (a key twice), and its errors reworded.
#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "json_reader.hpp"

namespace tokenroof::io {
namespace {

constexpr std::size_t deepest = 200;

std::string place(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool starts_a_non_number(std::string_view token) {
  // The token as given may begin with the punctuation before it.
  const std::size_t before = token.find_last_of("[{,: \t\r\n");
  if (before != std::string_view::npos) token.remove_prefix(before + 1);
  const std::string word = lower(token);
  if (word.empty() || word == "-") return false;
  for (const std::string_view name : {"nan", "infinity", "-infinity", "-nan"})
    if (name.starts_with(word)) return word != "n" || token == "N";
  return false;
}

// Receives the events of the parser and builds the tree. Appends members without searching for
// them, which keeps large objects linear; an own set per open object finds keys given twice.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, Faults& faults) : text_(text), faults_(faults) {}

  Json take() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second)
      faults_.add(join_pointer(pointer(), name), "the key is given twice");
    using Members = Json::object_t::Container;
    static_cast<Members&>(open_.back().value->get_ref<Json::object_t&>())
        .emplace_back(std::move(name), nullptr);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) {
    faults_.add("", place(text_, position) + ": " + reason(token, error));
    return false;
  }

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> keys;
  };

  static std::string reason(const std::string& token, const nlohmann::detail::exception& error) {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) return "the number " + token + " is out of range";
    if (starts_a_non_number(token))
      return "NaN and infinity are not JSON; leave the key out or write null";
    std::string message = error.what();
    if (message.find("; expected end of input") != std::string::npos)
      return "text after the end of the JSON value";
    const std::size_t start = message.find("syntax error");
    return "not JSON: " + (start == std::string::npos ? message : message.substr(start));
  }

  std::string pointer() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Json& value = *open_[i].value;
      path = value.is_array()
                 ? join_pointer(path, value.size() - 1)
                 : join_pointer(path, value.get_ref<const Json::object_t&>().back().first);
    }
    return path;
  }

  Json* place_value(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& member = parent.get_ref<Json::object_t&>().back().second;
    member = std::move(value);
    return &member;
  }
  bool add(Json value) {
    place_value(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == deepest) {
      faults_.add("", "nested deeper than " + std::to_string(deepest) + " levels");
      return false;
    }
    open_.push_back({place_value(std::move(value)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  Faults& faults_;
  Json root_;
  std::vector<Open> open_;
};

// Writes null over Infinity, -Infinity and NaN outside strings.
std::string without_python_literals(std::string_view text) {
  std::string result;
  result.reserve(text.size() + 16);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\' && i + 1 < text.size()) {
        result += c;
        result += text[++i];
        continue;
      }
      quoted = c != '"';
      result += c;
      continue;
    }
    quoted = c == '"';
    std::size_t literal = 0;
    for (const std::string_view name : {"-Infinity", "Infinity", "NaN"})
      if (text.substr(i).starts_with(name)) literal = name.size();
    if (literal == 0) {
      result += c;
    } else {
      result += "null";
      i += literal - 1;
    }
  }
  return result;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file, NonFinite non_finite) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw SpecError(file, "", "the file is empty");
  std::string rewritten;
  if (non_finite == NonFinite::read_as_null) {
    rewritten = without_python_literals(text);
    text = rewritten;
  }
  Faults faults(file);
  TreeBuilder builder(text, faults);
  Json::sax_parse(text.begin(), text.end(), &builder);
  faults.throw_if_any();
  return builder.take();
}

Json read_json_file(const std::filesystem::path& path, NonFinite non_finite) {
  return parse_json(read_file(path), path.string(), non_finite);
}

}  // namespace tokenroof::io

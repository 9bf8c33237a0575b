// Options: declared once as typed members of a group, read from GODWIT_* in one place.
//
//   struct ShmOptions : OptionGroup {
//     Option<Bytes> ring{*this, "SHM_RING", Bytes{65536}, "size of the ring of each connected pair"};
//     ShmOptions() : OptionGroup("shm") {}
//   };
//   const auto& options = services.options.get<ShmOptions>();
//   use(options.ring->value);
//
// Each layer declares its group; runtime makes an OptionSet of all groups and loads it. An unknown GODWIT_*
// name and a bad value are Error(invalid_argument) that name the nearest option and what is accepted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

namespace godwit::core {

/// A size in bytes: "8", "4K", "64M", "8G" (powers of 1024; K, KB and KiB are the same).
struct Bytes {
  std::size_t value = 0;
  friend bool operator==(Bytes, Bytes) = default;
};

/// Seconds with a fraction: "5", "0.25"; also "250ms", "2m".
struct Seconds {
  double value = 0;
  friend bool operator==(Seconds, Seconds) = default;
};

/// One of several words, in any case; `value` is as spelled in `accepted`.
struct Choice {
  std::string value;
  std::vector<std::string> accepted;
};

/// Text that is never printed.
struct Secret {
  std::string value;
};

class OptionGroup;

class OptionBase {
 public:
  OptionBase(OptionGroup& group, std::string_view name, std::string_view help);
  virtual ~OptionBase() = default;
  OptionBase(const OptionBase&) = delete;
  OptionBase& operator=(const OptionBase&) = delete;

  const std::string& name() const noexcept { return name_; }  // without GODWIT_
  const std::string& help() const noexcept { return help_; }
  bool is_set() const noexcept { return !origin_.empty(); }
  /// Where the value came from: "GODWIT_SHM_RING", "NCCL_ALGO", "ContextOptions SHM_RING"; empty for the default.
  const std::string& origin() const noexcept { return origin_; }
  /// Throws Error(invalid_argument): "<origin>=<text>: not <what is accepted>". The old value stays.
  void set(std::string_view text, std::string_view origin);

  virtual std::string type_text() const = 0;  // "size", "seconds", "one of a, b, c"
  virtual std::string default_text() const = 0;
  virtual std::string value_text() const = 0;

 protected:
  /// Returns an empty string, or what is accepted ("a size such as 8, 4K, 64M").
  virtual std::string parse(std::string_view text) = 0;

 private:
  std::string name_, help_, origin_;
};

class OptionGroup {
 public:
  explicit OptionGroup(std::string_view title) : title_(title) {}
  virtual ~OptionGroup() = default;
  const std::string& title() const noexcept { return title_; }
  const std::vector<OptionBase*>& options() const noexcept { return options_; }

 private:
  friend class OptionBase;
  std::string title_;
  std::vector<OptionBase*> options_;
};

/// T: bool, std::int64_t, Bytes, std::optional<Bytes>, Seconds, Choice, Secret, std::string,
/// std::vector<std::string> (comma-separated).
/// `check` returns an empty string or what is accepted ("a size of at least 64K").
template <class T>
class Option : public OptionBase {
 public:
  using Check = std::function<std::string(const T&)>;
  Option(OptionGroup& group, std::string_view name, T default_value, std::string_view help, Check check = {});
  const T& operator*() const noexcept { return value_; }
  const T* operator->() const noexcept { return &value_; }
  std::string type_text() const override;
  std::string default_text() const override;
  std::string value_text() const override;

 protected:
  std::string parse(std::string_view text) override;

 private:
  T value_, default_;
  Check check_;
};

extern template class Option<bool>;
extern template class Option<std::int64_t>;
extern template class Option<Bytes>;
extern template class Option<std::optional<Bytes>>;
extern template class Option<Seconds>;
extern template class Option<Choice>;
extern template class Option<Secret>;
extern template class Option<std::string>;
extern template class Option<std::vector<std::string>>;

/// What loading the options has to say to the log; `warning` = set, but without effect.
struct OptionNote {
  bool warning = false;
  std::string text;
};

/// All groups of a context. Not thread-safe while it is filled and loaded; constant after that.
class OptionSet {
 public:
  using Variables = std::map<std::string, std::string>;
  /// Returns the value in our words. Throws Error(invalid_argument) for one that the foreign variable cannot have.
  using Convert = std::function<std::string(const std::string&)>;

  struct Alias {
    std::string foreign, ours;  // `ours` without prefix; empty = no effect, because of `why`
    std::string why;
    Convert convert;
  };

  /// Throws Error(internal) if an option of G has the name of one that is there.
  template <class G>
  void add() {
    add_group(typeid(G), std::make_unique<G>());
  }
  /// A group must have been added.
  template <class G>
  const G& get() const {
    return static_cast<const G&>(*index_.at(typeid(G)));
  }
  const std::vector<std::unique_ptr<OptionGroup>>& groups() const noexcept { return groups_; }
  const std::vector<Alias>& aliases() const noexcept { return aliases_; }

  /// A foreign variable that sets ours: NCCL_DEBUG -> DEBUG. `convert` maps its value; empty = as it is.
  void alias(std::string_view foreign, std::string_view ours, Convert convert = {});
  /// A variable (full name, foreign or GODWIT_*) of a layer that this build lacks: known, noted as a warning, no
  /// effect. `why` completes "set but not used: ".
  void ignore(std::string_view variable, std::string_view why);

  /// Takes GODWIT_* and the aliases from `variables`, then `overrides` (names without prefix). GODWIT_ and
  /// overrides win over an alias; a variable with an empty value counts as not set. Throws one
  /// Error(invalid_argument) with a line for each thing wrong.
  std::vector<OptionNote> load(const Variables& variables, const Variables& overrides);
  /// GODWIT_*, NCCL_* of this process's environment.
  static Variables environment();

 private:
  void add_group(std::type_index type, std::unique_ptr<OptionGroup> group);
  OptionBase* find(std::string_view name) const noexcept;
  const Alias* find_ignored(std::string_view variable) const noexcept;
  std::string unknown_text(std::string_view name, std::string_view shown_prefix) const;

  std::vector<std::unique_ptr<OptionGroup>> groups_;
  std::map<std::type_index, OptionGroup*> index_;
  std::vector<Alias> aliases_;
};

}  // namespace godwit::core

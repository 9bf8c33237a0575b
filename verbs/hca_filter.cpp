#include "verbs/hca_filter.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fnmatch.h>
#include <algorithm>
#include <charconv>

namespace godwit::verbs {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

bool take(std::string_view& text, char sign) {
  const bool there = text.starts_with(sign);
  if (there) text.remove_prefix(1);
  return there;
}

template <class Visit>
void for_each_port(std::span<const DeviceFacts> devices, Visit&& visit) {
  for (const DeviceFacts& device : devices)
    for (const PortFacts& port : device.ports) visit(device.name, port.number);
}

}  // namespace

bool HcaFilter::Item::matches(std::string_view device, unsigned number) const {
  return (port == 0 || port == number) && fnmatch(pattern.c_str(), std::string(device).c_str(), 0) == 0;
}

HcaFilter::HcaFilter(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {
  exclude_ = take(text, '^');
  take(text, '=');  // NCCL's sign for exact names, which ours are anyway
  for (std::string& word : split(text)) {
    Item item{word, word, 0};
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
      const char *const first = word.data() + colon + 1, *const last = word.data() + word.size();
      const auto [end, error] = std::from_chars(first, last, item.port);
      item.pattern.resize(colon);
      if (error != std::errc{} || end != last || item.port == 0)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}={}: `{}`: after the colon comes the number of a port, from 1, as in mlx5_0:1",
                                origin_, text_, word));
    }
    if (item.pattern.empty() || item.pattern.find_first_of("^=") != std::string::npos)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}={}: `{}` is no name of an adapter; accepted: mlx5_0,mlx5_2:1 or ^mlx5_0,mlx5_2:1",
                              origin_, text_, word));
    items_.push_back(std::move(item));
  }
  if (items_.empty() && !text_.empty())
    throw Error(ErrorCode::invalid_argument, fmt::format("{}={}: it names no adapter", origin_, text_));
}

bool HcaFilter::allows(std::string_view device, unsigned port) const {
  if (items_.empty()) return true;
  return std::ranges::any_of(items_, [&](const Item& item) { return item.matches(device, port); }) != exclude_;
}

std::vector<std::string> HcaFilter::check(std::span<const DeviceFacts> devices) const {
  std::vector<std::string> there;
  bool any = false;
  for_each_port(devices, [&](const std::string& name, unsigned port) {
    there.push_back(fmt::format("{}:{}", name, port));
    any |= allows(name, port);
  });
  if (there.empty()) return {};
  if (!any)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}={} {} this host has: {}{}", origin_, text_,
                            exclude_ ? "leaves nothing of what" : "matches nothing of what", fmt::join(there, ", "),
                            exclude_ ? "" : "; names are exact, mlx5_1* is every name that begins so"));
  std::vector<std::string> warnings;
  for (const Item& item : items_) {
    bool found = false;
    for_each_port(devices, [&](const std::string& name, unsigned port) { found |= item.matches(name, port); });
    if (!found)
      warnings.push_back(fmt::format("{}={}: there is no {} on this host, which has: {}", origin_, text_, item.text,
                                     fmt::join(there, ", ")));
  }
  return warnings;
}

std::string hca_from_nccl(const std::string& value) {
  std::string_view text = value;
  std::string ours(take(text, '^') ? "^" : "");
  const std::string_view more = take(text, '=') ? "" : "*";
  const char* separator = "";
  for (const std::string& word : split(text)) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    ours += fmt::format("{}{}{}{}", separator, word.substr(0, colon), more, word.substr(colon));
    separator = ",";
  }
  return ours;
}

}  // namespace godwit::verbs

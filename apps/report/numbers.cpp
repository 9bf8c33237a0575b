#include "report/numbers.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace godwit::apps::report {

std::string short_number(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size < 1e-3 || size >= 999.5e12) return fmt::format("{:.3g}", value);
  constexpr std::array suffixes = {"", "k", "M", "G", "T"};
  std::size_t thousands = 0;
  double scaled = value;
  while (std::abs(scaled) >= 999.5 && thousands + 1 < suffixes.size()) scaled /= 1000, ++thousands;
  return fmt::format("{:.3g}{}", scaled, suffixes[thousands]);
}

std::string size_text(double bytes) {
  if (bytes != std::floor(bytes) || bytes >= 0x1p62) return short_number(bytes);
  return core::format_size(static_cast<std::size_t>(bytes));
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      case '\t':
      case '\n': safe += c; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          safe += "\xef\xbf\xbd";
        else
          safe += c;
    }
  return safe;
}

}  // namespace godwit::apps::report

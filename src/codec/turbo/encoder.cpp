#include <algorithm>
#include <base/checked.hpp>
#include <codec/turbo/encoder.hpp>
#include <cstring>
#include <exception>
#include <span>

namespace framewire::codec::turbo {
namespace {

J_COLOR_SPACE color_space(plan::OutputModel model) {
  switch (model) {
    case plan::OutputModel::kGray:
      return JCS_GRAYSCALE;
    case plan::OutputModel::kYcbcr:
      return JCS_YCbCr;
    case plan::OutputModel::kCmyk:
      return JCS_CMYK;
  }
  return JCS_UNKNOWN;
}

}  // namespace

Encoder::Encoder(const plan::EncodePlan& plan, const Context& context,
                 std::vector<std::uint8_t>& out)
    : plan_(plan), context_(context), out_(out), errors_(false), buffer_(kBufferBytes) {
  cinfo_.err = errors_.manager();
}

Encoder::~Encoder() { jpeg_destroy_compress(&cinfo_); }

Result<std::unique_ptr<Encoder>> Encoder::open(const plan::EncodePlan& plan, const Context& context,
                                               std::vector<std::uint8_t>& out) {
  std::unique_ptr<Encoder> encoder(new Encoder(plan, context, out));
  if (!encoder->start()) return fail(encoder->errors_.status());
  return encoder;
}

bool Encoder::start() {
  const bool opened = errors_.guarded([&] {
    jpeg_create_compress(&cinfo_);
    cinfo_.client_data = this;
    destination_.init_destination = &on_open;
    destination_.empty_output_buffer = &on_full;
    destination_.term_destination = &on_close;
    cinfo_.dest = &destination_;
    configure();
    jpeg_start_compress(&cinfo_, TRUE);
  });
  if (!opened) return false;
  band_count_ = static_cast<std::int32_t>(cinfo_.total_iMCU_rows);
  for (int i = 0; i < cinfo_.num_components; ++i) prepare_component(i);
  return true;
}

void Encoder::configure() {
  cinfo_.image_width = static_cast<JDIMENSION>(plan_.width_px);
  cinfo_.image_height = static_cast<JDIMENSION>(plan_.height_px);
  cinfo_.input_components = plan_.component_count;
  cinfo_.in_color_space = color_space(plan_.model);
  jpeg_set_defaults(&cinfo_);
  jpeg_set_colorspace(&cinfo_, color_space(plan_.model));
  jpeg_set_quality(&cinfo_, plan_.quality, TRUE);
  cinfo_.write_JFIF_header = FALSE;
  cinfo_.write_Adobe_marker = FALSE;
  cinfo_.raw_data_in = TRUE;
  cinfo_.dct_method = JDCT_ISLOW;
  cinfo_.optimize_coding = plan_.optimize_huffman || plan_.progressive ? TRUE : FALSE;
  cinfo_.restart_interval = static_cast<unsigned>(plan_.restart_interval_mcus);
  for (int i = 0; i < cinfo_.num_components; ++i) {
    cinfo_.comp_info[i].h_samp_factor = plan_.h[static_cast<std::size_t>(i)];
    cinfo_.comp_info[i].v_samp_factor = plan_.v[static_cast<std::size_t>(i)];
  }
  if (plan_.progressive) jpeg_simple_progression(&cinfo_);
}

void Encoder::prepare_component(int index) {
  const jpeg_component_info& info = cinfo_.comp_info[index];
  Component& c = components_[static_cast<std::size_t>(index)];
  const auto size = [](std::int32_t whole, int factor, int most) {
    return base::ceil_div(whole * factor, most);
  };
  c.width_px = size(plan_.width_px, info.h_samp_factor, cinfo_.max_h_samp_factor);
  c.height_px = size(plan_.height_px, info.v_samp_factor, cinfo_.max_v_samp_factor);
  c.padded_px = static_cast<std::int32_t>(info.width_in_blocks) * 8;
  c.rows_per_band = info.v_samp_factor * 8;
}

void Encoder::row(int component, const std::uint8_t* samples) {
  Component& c = components_[static_cast<std::size_t>(component)];
  if (failed_ || c.received == c.height_px) return;
  const auto pitch = static_cast<std::size_t>(c.padded_px);
  const auto in_band = static_cast<std::size_t>(c.received % c.rows_per_band);
  if (in_band == 0) {
    if (c.spare.empty()) c.spare.emplace_back(static_cast<std::size_t>(c.rows_per_band) * pitch);
    c.bands.push_back(std::move(c.spare.back()));
    c.spare.pop_back();
  }
  std::uint8_t* row = c.bands.back().data() + in_band * pitch;
  std::memcpy(row, samples, static_cast<std::size_t>(c.width_px));
  std::memset(row + c.width_px, samples[c.width_px - 1],
              static_cast<std::size_t>(c.padded_px - c.width_px));
  if (++c.received == c.height_px) {  // repeats the last row, down to whole blocks
    for (std::size_t r = in_band + 1; r < static_cast<std::size_t>(c.rows_per_band); ++r) {
      std::memcpy(c.bands.back().data() + r * pitch, row, pitch);
    }
  }
  write_ready_bands();
}

/// Whether the oldest band of a component is complete.
bool Encoder::ready(const Component& c) const {
  return c.received >= std::min((bands_written_ + 1) * c.rows_per_band, c.height_px);
}

void Encoder::point_at_front(Component& c) const {
  for (std::int32_t r = 0; r < c.rows_per_band; ++r) {
    c.rows[static_cast<std::size_t>(r)] =
        c.bands.front().data() +
        static_cast<std::size_t>(r) * static_cast<std::size_t>(c.padded_px);
  }
}

void Encoder::write_ready_bands() {
  const auto used = std::span(components_).first(static_cast<std::size_t>(plan_.component_count));
  while (!failed_ && bands_written_ < band_count_ &&
         std::all_of(used.begin(), used.end(), [&](const Component& c) { return ready(c); })) {
    std::array<JSAMPARRAY, jpeg::kMaxComponents> arrays{};
    for (std::size_t i = 0; i < used.size(); ++i) {
      point_at_front(used[i]);
      arrays[i] = used[i].rows.data();
    }
    write_band(arrays.data());
    for (Component& c : used) {
      c.spare.push_back(std::move(c.bands.front()));
      c.bands.pop_front();
    }
    ++bands_written_;
  }
}

void Encoder::write_band(JSAMPARRAY* arrays) {
  const bool ok = errors_.guarded([&] {
    if (context_.deadline.passed()) {
      errors_.leave(StatusCode::kDeadline, "the time allowed ran out while encoding");
    }
    jpeg_write_raw_data(&cinfo_, arrays, static_cast<JDIMENSION>(cinfo_.max_v_samp_factor * 8));
  });
  if (!ok) failed_ = true;
}

Result<void> Encoder::close() {
  if (!failed_ && bands_written_ != band_count_) {
    return fail(StatusCode::kInternal, "the encoder did not get every row");
  }
  if (!failed_) failed_ = !errors_.guarded([&] { jpeg_finish_compress(&cinfo_); });
  if (failed_) return fail(errors_.status());
  return {};
}

void Encoder::on_open(j_compress_ptr cinfo) {
  auto& self = *static_cast<Encoder*>(cinfo->client_data);
  cinfo->dest->next_output_byte = self.buffer_.data();
  cinfo->dest->free_in_buffer = kBufferBytes;
}

boolean Encoder::on_full(j_compress_ptr cinfo) {
  auto& self = *static_cast<Encoder*>(cinfo->client_data);
  self.flush(kBufferBytes);
  on_open(cinfo);
  return TRUE;
}

void Encoder::on_close(j_compress_ptr cinfo) {
  auto& self = *static_cast<Encoder*>(cinfo->client_data);
  self.flush(kBufferBytes - cinfo->dest->free_in_buffer);
}

void Encoder::flush(std::size_t bytes) {
  const std::size_t dropped = std::min(skip_, bytes);
  bool grown = true;
  try {
    out_.insert(out_.end(), buffer_.data() + dropped, buffer_.data() + bytes);
  } catch (const std::exception&) {
    grown = false;  // longjmp must not leave a catch block
  }
  skip_ -= dropped;
  if (!grown) errors_.leave(StatusCode::kBusy, "no memory for the output");
}

}  // namespace framewire::codec::turbo

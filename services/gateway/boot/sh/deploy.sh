run=${run:-/run} caches=${caches:-/proc/sys/vm/drop_caches}
choose_disk() {
  wait_for_disks
  best= best_size=0
  for disk in $(disks); do
    fits "$disk" || continue
    size=$(bytes_of "$disk")
    # Without a hint for one disk: the smallest that holds the image, at least 4 GiB if there is one, as Ironic does.
    [ "$size" -ge "$((image_size + drive_mib * 1048576))" ] || continue
    if [ -z "$best" ] || { [ "$size" -lt "$best_size" ] && [ "$size" -ge 4294967296 ]; } ||
      { [ "$best_size" -lt 4294967296 ] && [ "$size" -gt "$best_size" ]; }; then best=$disk best_size=$size; fi
  done
  [ -n "$best" ] || give_up "no disk fits the hints (${hints:-none}) and holds the image of $image_size bytes; there are: $(for disk in $(disks); do describe "$disk"; done | tr '\n' ' ')"
}
range_from() { [ "$1" = 0 ] || echo "--range $(($1 * 1048576))-"; }
# The status of the last answer, behind redirects. No answer at all is an interruption like others.
sends_part() { ! grep '^HTTP/' "$run/headers" 2>/dev/null | tail -n 1 | grep -q ' 200'; }
# Overwrites the start, so that a disk with a wrong image does not boot.
spoil() { dd if=/dev/zero of="/dev/$best" bs=1M count=1 conv=fsync,notrunc 2>/dev/null; }
write_image() {
  say "writing $image_name ($image_size bytes) to $(describe "$best")"
  spoil
  # Whole MiB that are on the disk. A download that is interrupted continues behind them.
  tries=0 have=0 parts=1
  while :; do
    rm -f "$run/headers"
    curl --silent --show-error --fail --location --connect-timeout 30 --speed-limit 1024 --speed-time 60 \
      --dump-header "$run/headers" $(range_from "$have") ${image_header:+--header "$image_header"} "$image_url" \
      2>"$run/curl" | dd of="/dev/$best" bs=1M seek="$have" iflag=fullblock conv=fsync,notrunc 2>"$run/dd"
    if [ "$have" -gt 0 ] && ! sends_part; then
      # This server sends only the whole image, which is now at the wrong place.
      have=0 parts=
      say 'the server of the image sends no parts; beginning again'
      continue
    fi
    [ -s "$run/curl" ] || break
    written=$(sed -n 's/^\([0-9]*\)+.* out$/\1/p' "$run/dd")
    # Only attempts that bring nothing count.
    [ "${written:-0}" -gt 0 ] && tries=0 || tries=$((tries + 1))
    [ "$tries" -lt 5 ] || { spoil; give_up "cannot fetch image $image_name from $image_url: $(head -c 300 "$run/curl")"; }
    [ -z "$parts" ] || have=$((have + ${written:-0}))
    say "image interrupted: $(head -c 300 "$run/curl"); continuing after $have MiB"
    sleep "$((tries * 2 + 1))"
  done
  sync
  echo 3 >"$caches"
  # The sum of what is on the disk, not of what arrived: it finds errors of the network and of the disk.
  sum=$(head -c "$image_size" "/dev/$best" | sha256sum)
  [ "${sum%% *}" = "$image_sha256" ] || {
    spoil
    give_up "the checksum of image $image_name on $(describe "$best") is ${sum%% *}, expected $image_sha256 ($image_url)"
  }
  say 'the checksum on the disk is right'
}
# Adds a partition at the end of the disk, with the label that cloud-init looks for.
write_config_drive() {
  before=$(ls /sys/block/"$best")
  case $best in *[0-9]) part=${best}p ;; *) part=$best ;; esac
  end=$(($(bytes_of "$best") / 1048576 - drive_mib - 1))
  echo "start=${end}MiB, size=${drive_mib}MiB" | sfdisk --quiet --no-reread --append "/dev/$best" >/run/sfdisk 2>&1 ||
    give_up "cannot add a partition for the config drive to $(describe "$best"): $(head -c 300 /run/sfdisk)"
  partprobe "/dev/$best" 2>/dev/null || blockdev --rereadpt "/dev/$best" 2>/dev/null
  tries=0 drive=
  while [ -z "$drive" ] && [ "$tries" -lt 50 ]; do
    for path in /sys/block/"$best"/"$part"*; do
      read_line "$path/start" && [ "$value" = "$((end * 2048))" ] && drive=${path##*/}
    done
    tries=$((tries + 1))
    [ -n "$drive" ] || sleep 0.2
  done
  [ -n "$drive" ] || give_up "the partition of the config drive does not appear on $(describe "$best")"
  mkdosfs -n config-2 "/dev/$drive" >/run/mkdosfs 2>&1 && mkdir -p /run/drive &&
    mount -t vfat "/dev/$drive" /run/drive || give_up "cannot make the config drive: $(head -c 300 /run/mkdosfs)"
  mkdir -p /run/drive/openstack/latest /run/drive/anneal
  config_drive /run/drive
  umount /run/drive || give_up 'cannot write the config drive'
  sync
}
deploy() {
  [ -n "$image_url" ] || give_up "there is no image $image_name to write: anneal image add"
  drive_mib=64
  choose_disk
  write_image
  write_config_drive
  report written "$image_name is on $(describe "$best")"
  while [ -z "$settled" ] && [ "$code" = 200 ]; do
    sleep 1
    send_report written "$image_name is on $(describe "$best")"
  done
  [ -n "$settled" ] || { sync; poweroff -f; }
  say 'rebooting from the disk'
  sync
  reboot -f
}

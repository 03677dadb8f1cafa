run=${run:-/run} caches=${caches:-/proc/sys/vm/drop_caches}
# Attempts in which nothing of the image arrives: about three minutes.
most_tries=${most_tries:-12}
# The config drive behind the image.
drive_mib=64
choose_disk() {
  wait_for_disks
  best= best_size=0 fitting=
  for disk in $(disks); do
    fits "$disk" || continue
    fitting=yes
    size=$(bytes_of "$disk")
    # Without a hint for one disk: the smallest that holds the image, at least 4 GiB if there is one, as Ironic does.
    [ "$size" -ge "$((image_size + drive_mib * 1048576))" ] || continue
    if [ -z "$best" ] || { [ "$size" -lt "$best_size" ] && [ "$size" -ge 4294967296 ]; } ||
      { [ "$best_size" -lt 4294967296 ] && [ "$size" -gt "$best_size" ]; }; then best=$disk best_size=$size; fi
  done
  [ -n "$best" ] && return
  there="there are: $(for disk in $(disks); do describe "$disk"; done | tr '\n' ' ')"
  shown=$(printf %s "$hints" | tr '\t\n' ' ,')
  [ -n "$fitting" ] || give_up "no disk fits the hints of root_device ($shown); $there"
  give_up "no disk${hints:+ that fits the hints of root_device ($shown)} holds image $image_name of $image_size bytes and $drive_mib MiB for the config drive; $there" DiskTooSmall
}
range_from() { [ "$1" = 0 ] || echo "--range $(($1 * 1048576))-"; }
# The status of the last answer, behind redirects. No answer at all is an interruption like others.
status_of_answer() { sed -n 's/^HTTP[^ ]* \([0-9]*\).*/\1/p' "$run/headers" 2>/dev/null | tail -n 1; }
fetch() {
  rm -f "$run/headers"
  # The token of an image that Anneal keeps goes only to its gateway.
  [ -n "$image_header" ] && set -- "$@" --header "$image_header" || set -- "$@" --location
  curl --silent --show-error --fail --connect-timeout 30 --speed-limit 1024 --speed-time 60 \
    --dump-header "$run/headers" "$@" "$image_url" 2>"$run/curl"
}
# The image cannot be used: no other machine could write it either. The network is not the cause, because the report arrives.
blame_image() { spoil; give_up "$1" ImageUnusable; }
# Overwrites the start, so that a disk with a wrong image does not boot.
spoil() { dd if=/dev/zero of="/dev/$best" bs=1M count=1 conv=fsync,notrunc 2>/dev/null; }
write_image() {
  say "writing $image_name ($image_size bytes) to $(describe "$best")"
  spoil
  # Whole MiB that are on the disk. A download that is interrupted continues behind them.
  tries=0 have=0 parts=1
  while :; do
    fetch $(range_from "$have") | dd of="/dev/$best" bs=1M seek="$have" iflag=fullblock conv=fsync,notrunc 2>"$run/dd" || {
      why=$(head -n 1 "$run/dd")
      case $why in *'o space left'*) blame_image "image $image_name at $image_url is larger than the $image_size bytes that are registered" ;; esac
      spoil
      give_up "cannot write image $image_name to $(describe "$best"): $why"
    }
    status=$(status_of_answer)
    if [ "$have" -gt 0 ] && [ "$status" = 200 ]; then
      # This server sends only the whole image, which is now at the wrong place.
      have=0 parts=
      say 'the server of the image sends no parts; beginning again'
      continue
    fi
    [ -s "$run/curl" ] || break
    written=$(sed -n 's/^\([0-9]*\)+.* out$/\1/p' "$run/dd")
    # Only attempts that bring nothing count.
    [ "${written:-0}" -gt 0 ] && tries=0 || tries=$((tries + 1))
    [ -z "$parts" ] || have=$((have + ${written:-0}))
    why="$(head -c 300 "$run/curl") ($have of $((image_size / 1048576)) MiB arrived)"
    # A refusal is final, but for "timeout", "too many requests", and "no such range", which means that all has arrived.
    case $status in 416) break ;; 408 | 429) ;; 4*) tries=$most_tries ;; esac
    [ "$tries" -lt "$most_tries" ] || blame_image "cannot fetch image $image_name from $image_url: $why"
    say "image interrupted: $why; continuing"
    sleep "$((tries * 2 + 1))"
  done
  sync
  echo 3 >"$caches"
  # The sum of what is on the disk, not of what arrived: it finds errors of the network and of the disk.
  sum=$(head -c "$image_size" "/dev/$best" | sha256sum)
  [ "${sum%% *}" = "$image_sha256" ] || wrong_sum "${sum%% *}"
  say 'the checksum on the disk is right'
}
# Fetches the image once more without the disk, to tell a wrong image from a disk that does not keep what is written.
wrong_sum() {
  spoil
  say "the checksum on the disk is $1, expected $image_sha256; fetching the image again to find out why"
  again=$(fetch | sha256sum)
  size=$(sed -n 's/^[Cc]ontent-[Ll]ength: *\([0-9]*\).*/\1/p' "$run/headers" | tail -n 1)
  [ ! -s "$run/curl" ] || again="not known, because it cannot be fetched again: $(head -c 300 "$run/curl")"
  [ "${again%% *}" != "$image_sha256" ] ||
    give_up "$(describe "$best") or the network of this machine changed image $image_name while it was written: its checksum is $1 on the disk and $image_sha256 at $image_url, as registered"
  blame_image "the checksum of image $image_name at $image_url is ${again%%  *}, but it is registered with $image_sha256 and $image_size bytes${size:+ (the server sends $size bytes)}"
}
# Adds a partition at the end of the disk, with the label that cloud-init looks for.
write_config_drive() {
  before=$(ls /sys/block/"$best")
  case $best in *[0-9]) part=${best}p ;; *) part=$best ;; esac
  end=$(($(bytes_of "$best") / 1048576 - drive_mib - 1))
  echo "start=${end}MiB, size=${drive_mib}MiB" | sfdisk --quiet --no-reread --append "/dev/$best" >/run/sfdisk 2>&1 ||
    blame_image "cannot add a partition for the config drive after image $image_name, which has to be that of a whole disk with a partition table: $(head -c 300 /run/sfdisk)"
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
  [ -n "$image_url" ] || give_up "there is no content of image $image_name to write: anneal image add $image_name" ImageUnusable
  choose_disk
  write_image
  write_config_drive
  powers_off=yes
  report written "$image_name is on $(describe "$best")"
  while [ -z "$settled" ] && [ "$code" = 200 ]; do
    sleep 1
    send_report written "$image_name is on $(describe "$best")"
  done
  sync
  # Many BMCs apply a change of the boot only at a start from off, so the BMC starts the machine.
  if [ -z "$settled" ] || [ -n "$power_off" ]; then
    say 'powering off; the BMC starts this machine from its disk'
    poweroff -f
  else
    # The server has a version that waits for a restart.
    say 'restarting from the disk'
    reboot -f
  fi
}

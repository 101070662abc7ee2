// A picture of class "play" becomes a button that puts the page of the viewer in its place.
document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll("img.play")) {
    const name = picture.getAttribute("src").match(/(?:card_)?(\w+)\.\w+$/)[1];
    const stage = document.createElement("span"), button = document.createElement("button");
    stage.className = "stage";
    button.type = "button";
    button.setAttribute("aria-label", `Play: ${picture.alt}`);
    picture.replaceWith(stage);
    stage.append(picture, button);
    button.addEventListener("click", () => {
      const frame = document.createElement("iframe"), chosen = document.body.dataset.theme;
      frame.src = `play/${name}.html#options=closed${chosen === "light" || chosen === "dark" ? `&theme=${chosen}` : ""}`;
      frame.title = picture.alt;
      stage.replaceChildren(frame);
    });
  }
});
